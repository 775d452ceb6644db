"""Clients that consume in groups of two, with their defaults."""

from client import Batch


def classic(report, broker, client, starts):
    """Two members share a topic, each record comes once; one leaves, the other takes over; a third resumes."""
    name = client.kind.name
    topic = f"shared-{name}"
    client.do("create", topic, 12)
    group = starts(f"group-{name}")
    first, second = group.join(topic), group.join(topic)
    share(report, name, "two members have six partitions each", group, (topic, 12))
    both = Batch(topic, 12, 0, 1200, "both")
    both.produced_by(client)
    consume(report, name, "two members consume each record once", group, both)

    group.leave(first)
    share(report, name, "the second takes over when the first has left", group, (topic, 12))
    alone = Batch(topic, 12, 1200, 1200, "alone")
    alone.produced_by(client)
    consume(report, name, "and goes on after what the first has consumed", group, alone)
    third = group.join(topic)
    share(report, name, "a third takes half of it", group, (topic, 12))

    group.leave(second)
    group.leave(third)
    empty(report, broker, name)
    meanwhile = Batch(topic, 12, 2400, 1200, "meanwhile")
    meanwhile.produced_by(client)
    last = group.join(topic)
    consume(report, name, "who comes later resumes at the committed offsets", group, meanwhile)
    group.leave(last)
    client.quit()


def share(report, name, what, group, *topics):
    report.check(f"{name}: {what}", group.until(lambda: group.shares(*topics)), group.shown())


def consume(report, name, what, group, *batches):
    found = group.consumes(*batches)
    report.check(f"{name}: {what}", not found, found)


def empty(report, broker, name):
    """Nobody is left in any group."""
    if stats := broker.stats():
        groups = stats["groups"]
        report.check(f"{name}: the group is empty when all have left", groups["members"] == 0, groups)
        report.check(f"{name}: and has committed an offset for each partition", groups["offsets"] == 12, groups)
