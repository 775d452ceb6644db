"""What the clients go through, and what must hold of the records and of the broker's counters."""

from client import Batch, difference

# The broker answers a fetch that finds nothing after the 20 ms that the clients ask for, and a poll lasts 5 ms.
IDLE_POLLS = 1000
# Polls that a client gets for records that are there: many times what it needs, at the most.
PATIENCE = 4000


def consume(report, what, client, *batches):
    """Polls until as many records have come as the batches have, and compares."""
    records = client.do("poll", PATIENCE, sum(batch.count for batch in batches))
    found = difference(records, *batches)
    report.check(f"{client.kind.name}: {what}", not found, found)


def life(report, broker, connect, kind):
    """One client alone: much data, idleness, a topic that appears, and one that is deleted and recreated."""
    name = kind.name
    client = connect(kind)
    orders = Batch(f"orders-{name}", 12, 0, 10_000, "order")
    client.do("create", orders.topic, orders.partitions)
    orders.produced_by(client)
    client.do("assign", f"{orders.topic}:12")
    consume(report, "consumes 10,000 records of 12 partitions, each once and in order", client, orders)

    before = broker.stats()
    found = difference(client.do("poll", IDLE_POLLS, 0))
    report.check(f"{name}: nothing comes in {IDLE_POLLS} idle polls", not found, found)
    idle(report, kind, before, broker.stats())

    late = Batch(f"late-{name}", 4, 0, 400, "first")
    client.do("create", late.topic, late.partitions)
    late.produced_by(client)
    client.do("assign", f"{orders.topic}:12", f"{late.topic}:4")
    consume(report, "picks up a topic that was created and written meanwhile", client, late)

    client.do("delete", late.topic)
    found = difference(client.do("poll", 200, 0))
    report.check(f"{name}: nothing comes of a deleted topic", not found, found)
    again = Batch(late.topic, 4, 0, 40, "second")
    client.do("create", again.topic, again.partitions)
    again.produced_by(client)
    client.do("recreated", again.topic, again.partitions)
    consume(report, "consumes the topic of the same name that took its place", client, again)

    more = Batch(orders.topic, 12, orders.count, 120, "order")
    more.produced_by(client)
    consume(report, "goes on with the first topic", client, more)
    session(report, kind, broker.stats())

    client.quit()
    closed(report, [kind], broker.stats())


def idle(report, kind, before, after):
    """Between the two readings the client did nothing but poll."""
    if after is None:
        return
    rise = {name: after[name] - before[name] for name in after if isinstance(after[name], int)}
    if not kind.sessions:
        report.check(
            f"{kind.name}: fetches without a session",
            rise["fetches_sessionless"] > 0 and rise["fetches_incremental"] == 0 and after["sessions"] == 0,
            rise,
        )
        return
    cached = after["partitions_cached"]
    report.check(f"{kind.name}: one live session after {IDLE_POLLS} polls", after["sessions"] == 1, after)
    report.check(f"{kind.name}: the session holds the 12 partitions", cached == 12, after)
    report.check(
        f"{kind.name}: idle fetches are incremental",
        rise["fetches_incremental"] >= 50 and rise["fetches_full"] == rise["fetches_sessionless"] == 0,
        rise,
    )
    # Each partition may come once more, with a high watermark or a log start that it had not yet told.
    report.check(
        f"{kind.name}: {rise['partitions_returned']} partitions returned in {rise['fetches_incremental']} idle fetches",
        rise["partitions_returned"] <= cached,
        rise,
    )
    report.check(
        f"{kind.name}: {rise['partitions_read']} partitions read in {rise['fetches_incremental']} idle fetches",
        rise["partitions_read"] <= 2 * cached,
        rise,
    )


def session(report, kind, stats):
    """At the end of a whole life, the client still connected."""
    if stats is None:
        return
    by_id, by_name = stats["sessions_created_by_id"], stats["sessions_created_by_name"]
    if kind.sessions == "id":
        report.check(f"{kind.name}: its sessions are by id", by_id > 0 and by_name == 0, stats)
    elif kind.sessions == "name":
        report.check(f"{kind.name}: its sessions are by name", by_name > 0 and by_id == 0, stats)
    else:
        report.check(f"{kind.name}: it made no session", by_id == by_name == 0, stats)
        return
    report.check(f"{kind.name}: one live session at the end", stats["sessions"] == 1, stats)
    offered = stats["partitions_cached"] * stats["fetches_incremental"]
    report.check(
        f"{kind.name}: {stats['partitions_returned']} partitions returned of {offered} cached in all its fetches",
        stats["partitions_returned"] * 5 < offered,
        stats,
    )


def closed(report, kinds, stats):
    """After consumers were closed: Kafka too keeps the session of a client that does not close it."""
    if stats is None:
        return
    left = sum(1 for kind in kinds if kind.sessions and not kind.closes)
    names = ", ".join(kind.name for kind in kinds)
    report.check(f"{names}: {left} sessions left after closing", stats["sessions"] == left, stats)


def together(report, broker, connect, kinds):
    """All clients at once, each consuming what every one of them produced."""
    clients = [connect(kind) for kind in kinds]
    batches = [Batch(f"from-{kind.name}", 12, 0, 1200, kind.name) for kind in kinds]
    for client, batch in zip(clients, batches):
        client.do("create", batch.topic, batch.partitions)
        batch.produced_by(client)
    for client in clients:
        client.do("assign", *(f"{batch.topic}:{batch.partitions}" for batch in batches))
        consume(report, "consumes what each client produced", client, *batches)
    for client in clients:
        client.begin("poll", IDLE_POLLS, 0)
    for client in clients:
        client.finish()
    if stats := broker.stats():
        wanted = sum(1 for kind in kinds if kind.sessions)
        report.check(f"{wanted} live sessions for as many consumers that have them", stats["sessions"] == wanted, stats)
        report.check(
            f"the sessions hold {wanted} times {12 * len(kinds)} partitions",
            stats["partitions_cached"] == wanted * 12 * len(kinds),
            stats,
        )
        report.check("no session was evicted", stats["evictions"] == 0, stats)
    for client in clients:
        client.quit()
    closed(report, kinds, broker.stats())


def fault(report, broker, connect, kind, code):
    """The broker answers one fetch of the client with an error of its session."""
    before = broker.stats()
    client = connect(kind)
    first = Batch(f"fault-{kind.name}", 12, 0, 1200, "first")
    client.do("create", first.topic, first.partitions)
    first.produced_by(client)
    client.do("assign", f"{first.topic}:12")
    consume(report, f"consumes though one fetch is answered with {code}", client, first)
    client.do("poll", 200, 0)
    more = Batch(first.topic, 12, first.count, 120, "more")
    more.produced_by(client)
    consume(report, f"goes on after the {code}", client, more)
    client.do("poll", 100, 0)
    if kind.sessions:
        after = broker.stats()
        rise = {name: after[name] - before[name] for name in after if isinstance(after[name], int)}
        made = rise["sessions_created_by_id"] + rise["sessions_created_by_name"]
        report.check(f"{kind.name}: it met the {code}", rise["fetches_error"] >= 1, rise)
        report.check(f"{kind.name}: it made a new session after it", made == 2, rise)
        report.check(f"{kind.name}: its later fetches are incremental", rise["fetches_incremental"] > 20, rise)
    client.quit()
