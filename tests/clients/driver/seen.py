"""What was checked, and what the broker saw of each client."""

from collections import defaultdict

from report import Report


class SeenReport(Report):
    def __init__(self):
        super().__init__()
        self._seen = {}

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
        super().close()
