"""Producers whose batches must be written exactly once, and readers of what was committed."""

import re
import time
from collections import defaultdict

from client import Batch, Failed
from scenarios import consume, own

# Of each topic that a client writes.
PARTITIONS = 2
# Records of one transaction, over all partitions.
TRANSACTION = 30
TRANSACTIONS = 20


def idempotent(report, broker, connect, kinds, count):
    """All clients at once write `count` records to each partition, while answers get lost and the broker is killed."""
    clients = [connect(kind) for kind in kinds]
    batches = [Batch(f"idempotent-{kind.name}", PARTITIONS, 0, PARTITIONS * count, kind.name) for kind in kinds]
    halves = [halved(batch) for batch in batches]
    for client, batch in zip(clients, batches):
        client.do("create", batch.topic, batch.partitions)
        client.do("open", "-")
    together(clients, [("send", *first) for first, _ in halves])
    together(clients, [("flush",)] * len(clients))
    for client, (_, second) in zip(clients, halves):
        client.begin("send", *second)
    before = await_appended(broker, {kind: first.count for kind, (first, _) in zip(kinds, halves)})
    broker.crash()
    broker.start()
    for client in clients:
        client.finish()
    together(clients, [("flush",)] * len(clients))
    after = broker.stats()

    for client, batch in zip(clients, batches):
        client.do("assign", f"{batch.topic}:{PARTITIONS}")
        what = f"wrote {count} records to each of {PARTITIONS} partitions, each once and in order"
        consume(report, what, client, batch)
    for kind in kinds:
        seen = [own(stats, kind) for stats in (before, after)]
        written = [mine["records_appended"] for mine in seen]
        report.check(f"{kind.name}: {written} records written before and after the kill", all(written), written)
        duplicates, lost = (sum(mine[name] for mine in seen) for name in ("duplicates", "responses_dropped"))
        what = f"{kind.name}: {duplicates} of its batches came again, {lost} answers were lost"
        report.check(what, duplicates > 0 and lost > 0, seen)
    recovery = after["recovery"]
    what = f"after the kill {recovery['snapshots_loaded']} snapshots were loaded, {recovery['batches_replayed']} batches read"
    report.check(what, recovery["snapshots_loaded"] > 0 and recovery["batches_replayed"] > 0, recovery)
    for client in clients:
        client.quit()


def halved(batch):
    half = batch.count // 2
    return batch._replace(count=half), batch._replace(start=half, count=batch.count - half)


def together(clients, commands):
    """Each client obeys its command at the same time as the others."""
    for client, command in zip(clients, commands):
        client.begin(*command)
    for client in clients:
        client.finish()


def await_appended(broker, counts):
    """Waits until each client has written more records than that; the broker's counters then."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        stats = broker.stats()
        if all(own(stats, kind)["records_appended"] > count for kind, count in counts.items()):
            return stats
        time.sleep(0.01)
    raise Failed("not every client has gone on to its second half")


def transactions(report, broker, connect, kinds):
    """Each client commits and aborts, is killed off by another of its transactional id, and all read what it wrote."""
    clients = {kind: connect(kind) for kind in kinds}
    topics = {kind: f"transactions-{kind.name}" for kind in kinds}
    committed, written = defaultdict(list), defaultdict(int)

    def send(kind, client):
        """One transaction's records, which are not ended yet."""
        client.do("begin")
        batch = Batch(topics[kind], PARTITIONS, written[kind], TRANSACTION, kind.name)
        client.do("send", *batch)
        client.do("flush")
        written[kind] += batch.count
        return batch

    for kind, client in clients.items():
        client.do("create", topics[kind], PARTITIONS)
        client.do("open", f"id-{kind.name}")
        for number in range(TRANSACTIONS):
            batch = send(kind, client)
            if number % 3 == 1:
                client.do("abort")
            else:
                client.do("commit")
                committed[kind].append(batch)
    left_open = {kind: send(kind, client) for kind, client in clients.items()}

    assigned = [f"{topic}:{PARTITIONS}" for topic in topics.values()]
    for kind, client in clients.items():
        client.do("assign", *assigned)
        total = sum(written.values())
        records = client.do("poll", 2000, total)
        report.check(f"{kind.name}: reads all {total} records while it does not mind", len(records) == total, len(records))
        client.do("committed")
        client.do("assign", *assigned)
        read_committed(report, kind, client, topics, committed, "of ended transactions")

    broker.crash()
    broker.start()
    for kind, client in clients.items():
        client.do("commit")
        committed[kind].append(left_open[kind])
    more = {kind: [batch] for kind, batch in left_open.items()}
    for kind, client in clients.items():
        read_committed(report, kind, client, topics, more, "committed after the broker was killed")

    for kind, client in clients.items():
        send(kind, client)
        successor = connect(kind)
        successor.do("open", f"id-{kind.name}")
        try:
            client.do("commit")
            answer = "it has committed"
        except Failed as failed:
            answer = str(failed)
        is_fenced = re.search("fenced|producer_?epoch", answer, re.IGNORECASE)
        report.check(f"{kind.name}: a successor of the same transactional id fences it", is_fenced, answer)
        last = send(kind, successor)
        successor.do("commit")
        committed[kind].append(last)
        successor.quit()
    for kind in kinds:
        reader = connect(kind)
        reader.do("committed")
        reader.do("assign", *assigned)
        read_committed(report, kind, reader, topics, committed, "of all clients, from the beginning")
        reader.quit()
    for client in clients.values():
        client.quit()


def read_committed(report, kind, client, topics, committed, what):
    """The client reads exactly those batches. Their offsets rise, with gaps where markers are."""
    wanted = defaultdict(list)
    for batches in committed.values():
        for batch in batches:
            for key, records in batch.logs().items():
                wanted[key] += [value for _, value in records]
    total = sum(map(len, wanted.values()))
    # Some polls more: what should not come may take a while.
    records = client.do("poll", 2000, total) + client.do("poll", 40, 0)
    seen, offsets = defaultdict(list), defaultdict(list)
    for record in records:
        seen[record.topic, record.partition].append(record.value)
        offsets[record.topic, record.partition].append(record.offset)
    rising = all(list(sorted(set(all_of))) == all_of for all_of in offsets.values())
    wrong = [key for key in wanted.keys() | seen.keys() if wanted[key] != seen[key]]
    detail = f"{len(records)} of {total}, wrong in {sorted(wrong)}"
    report.check(f"{kind.name}: reads exactly the {total} records {what}", not wrong and rising, detail)
