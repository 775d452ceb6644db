"""What was checked, and what the broker saw of each client."""

from collections import defaultdict


class Report:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self._seen = {}

    def check(self, what, holds, detail=""):
        if holds:
            self.passed += 1
            print(f"ok   {what}", flush=True)
        else:
            self.fail(what, detail)

    def fail(self, what, detail):
        self.failed += 1
        if isinstance(detail, dict):
            detail = ", ".join(f"{name} {count}" for name, count in detail.items() if isinstance(count, int))
        print(f"FAIL {what}: {detail}", flush=True)

    def skip(self, what, why):
        self.skipped += 1
        print(f"skip {what}: {why}", flush=True)

    def saw(self, stats):
        """Adds up what a broker saw of each client's software."""
        for seen in stats["clients"]:
            if not seen["apis"]:
                continue
            software = f"{seen['name']} {seen['version']}" if seen["name"] else "without a name"
            total = self._seen.setdefault(software, {"apis": defaultdict(set), "id": 0, "name": 0})
            for api, versions in seen["apis"].items():
                total["apis"][api].update(versions)
            total["id"] += seen["sessions_by_id"]
            total["name"] += seen["sessions_by_name"]

    def close(self):
        for software, total in sorted(self._seen.items()):
            print(f"\n{software}: sessions by id {total['id']}, by name {total['name']}")
            for api, versions in sorted(total["apis"].items()):
                print(f"  {api} v{', v'.join(map(str, sorted(versions)))}")
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        print(f"\n{self.passed} passed, {self.failed} failed{skipped}", flush=True)
