"""What the clients go through, and what must hold of the records and of the broker's counters."""

from client import Batch, Failed, difference

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
    before = broker.stats()
    end_of_life(report, kind, before)

    client.quit()
    closed(report, [kind], before, broker.stats())


def own(stats, kind):
    """The counters of this client alone, under the name that it gave to the broker."""
    for client in stats["clients"]:
        if client["name"] == kind.software:
            return client
    raise Failed(f"the broker knows no client by the name of {kind.software}")


def rise(before, after):
    """By how much each counter has risen."""
    return {name: count - before.get(name, 0) for name, count in after.items() if isinstance(count, int)}


def idle(report, kind, before, after):
    """Between the two readings the client did nothing but poll."""
    if after is None:
        return
    risen, mine = rise(before, after), own(after, kind)
    made = (mine["sessions_by_id"], mine["sessions_by_name"])
    incremental, cached = risen["fetches_incremental"], after["partitions_cached"]
    if not kind.sessions:
        sessionless = risen["fetches_sessionless"] >= 50 and incremental == 0 and made == (0, 0)
        report.check(f"{kind.name}: fetches without a session", sessionless, {**risen, **mine})
        return
    key = {"id": (1, 0), "name": (0, 1)}[kind.sessions]
    report.check(f"{kind.name}: it made one session, by {kind.sessions}", made == key, mine)
    report.check(f"{kind.name}: one live session after {IDLE_POLLS} polls", after["sessions"] == 1, after)
    report.check(f"{kind.name}: the session holds the 12 partitions", cached == 12, after)
    others = risen["fetches_full"] + risen["fetches_sessionless"] + risen["fetches_error"]
    report.check(f"{kind.name}: idle fetches are incremental", incremental >= 50 and others == 0, risen)
    # Each partition may come once more, with a high watermark that the client has not been told yet, and is read some
    # more times while the client tells where it goes on.
    held, returned, read = incremental * cached, risen["partitions_returned"], risen["partitions_read"]
    of = f"of {held} held in idle fetches"
    report.check(f"{kind.name}: {returned} partitions returned {of}", returned <= cached, risen)
    report.check(f"{kind.name}: {read} partitions read {of}", read * 20 <= held, risen)


def end_of_life(report, kind, stats):
    """The client has gone through everything and is still connected."""
    if stats is None or not kind.sessions:
        return
    mine = own(stats, kind)
    if not kind.abandons:
        report.check(f"{kind.name}: one live session at the end", stats["sessions"] == 1, stats)
    held = stats["partitions_cached"] * mine["fetches_incremental"]
    returned = mine["partitions_returned"]
    few = returned * 5 < held
    report.check(f"{kind.name}: {returned} partitions returned of {held} held in all fetches", few, mine)


def closed(report, kinds, before, after):
    """Consumers were closed between the two readings."""
    if after is None:
        return
    left = before["sessions"] - sum(1 for kind in kinds if kind.sessions and kind.closes)
    names = ", ".join(kind.name for kind in kinds)
    report.check(f"{names}: {left} sessions left after closing", after["sessions"] == left, after)


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
    if before := broker.stats():
        live = sum(1 for kind in kinds if kind.sessions)
        held = 12 * len(kinds) * live
        report.check(f"{live} live sessions for as many consumers that have them", before["sessions"] == live, before)
        report.check(f"the sessions hold {held} partitions", before["partitions_cached"] == held, before)
        report.check("no session was evicted", before["evictions"] == 0, before)
    for client in clients:
        client.quit()
    closed(report, kinds, before, broker.stats())


def fault(report, broker, connect, kind, code):
    """The broker answers one fetch of the client with an error of its session."""
    client = connect(kind)
    first = Batch(f"fault-{kind.name}", 12, 0, 1200, "first")
    client.do("create", first.topic, first.partitions)
    first.produced_by(client)
    before = broker.stats()
    client.do("assign", f"{first.topic}:12")
    consume(report, f"consumes though one fetch is answered with {code}", client, first)
    client.do("poll", 200, 0)
    more = Batch(first.topic, 12, first.count, 120, "more")
    more.produced_by(client)
    consume(report, f"goes on after the {code}", client, more)
    client.do("poll", 100, 0)
    after = broker.stats()
    mine = own(after, kind)
    if kind.sessions:
        made = mine["sessions_by_id"] + mine["sessions_by_name"]
        report.check(f"{kind.name}: it got the {code}", mine[f"given_{code}"] == 1 and mine["fetches_error"] == 1, mine)
        report.check(f"{kind.name}: it made one new session after it", made == 2, mine)
        live = after["sessions"] - before["sessions"]
        report.check(f"{kind.name}: it has one live session", live == 1, after)
        report.check(f"{kind.name}: its later fetches are incremental", mine["fetches_incremental"] >= 10, mine)
    else:
        report.check(f"{kind.name}: it has no session to get the {code} for", mine["fetches_error"] == 0, mine)
    client.quit()
