"""What was checked, and how it came out."""


class Report:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def check(self, what, holds, detail=""):
        if holds:
            self.passed += 1
            print(f"ok   {what}", flush=True)
        else:
            self.fail(what, detail)
        return holds

    def fail(self, what, detail):
        self.failed += 1
        if isinstance(detail, dict):
            detail = ", ".join(f"{name} {count}" for name, count in detail.items() if isinstance(count, int))
        print(f"FAIL {what}: {detail}", flush=True)

    def skip(self, what, why):
        self.skipped += 1
        print(f"skip {what}: {why}", flush=True)

    def close(self):
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        print(f"\n{self.passed} passed, {self.failed} failed{skipped}", flush=True)
