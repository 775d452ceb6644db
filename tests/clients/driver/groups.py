"""Clients that consume in groups of two, with their defaults."""

from client import Batch

# The clients whose users may choose the next generation of groups: franz-go hides it, kafka-python has none.
NEXT_GENERATION = {"kafka-clients", "confluent-kafka"}
# Rounds of polls that take longer than a heartbeat does, of half a second as the broker asks for.
REFRESH_ROUNDS = 15


class Grown(Batch):
    """Records of a topic that had four partitions before: where it is new its offsets start at 0."""

    def logs(self):
        skipped = self.start // self.partitions
        return {
            (topic, partition): [(offset - skipped * (partition >= 4), value) for offset, value in records]
            for (topic, partition), records in super().logs().items()
        }


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
    empty(report, broker, name, 12)
    meanwhile = Batch(topic, 12, 2400, 1200, "meanwhile")
    meanwhile.produced_by(client)
    last = group.join(topic)
    consume(report, name, "who comes later resumes at the committed offsets", group, meanwhile)
    group.leave(last)
    client.quit()


def next_generation(report, broker, client, starts):
    """The broker assigns (KIP-848), and gives out what is added to a topic and to a subscription."""
    name = client.kind.name
    first, second = f"next-{name}", f"more-{name}"
    client.do("create", first, 4)
    group = starts(f"next-{name}")
    member, other = group.join(first), group.join(first)
    share(report, name, "the broker gives two members two partitions each", group, (first, 4))
    batch = Batch(first, 4, 0, 400, "first")
    batch.produced_by(client)
    consume(report, name, "two members consume each record once", group, batch)

    before = settled(broker, group)
    client.do("create", f"unrelated-{name}", 4)
    for _ in range(REFRESH_ROUNDS):
        group.poll()
    bumped(report, broker, name, "a topic that nobody subscribes to", before, 0)

    member.do("grow", first, 6)
    share(report, name, "they get partitions that are added to their topic", group, (first, 6))
    bumped(report, broker, name, "more partitions", before, 1)
    grown = Grown(first, 6, 600, 600, "grown")
    grown.produced_by(client)
    consume(report, name, "and consume what is in them", group, grown)

    for one in group.members:
        one.do("subscribe", first, second)
    before = settled(broker, group)
    client.do("create", second, 4)
    share(report, name, "they get a topic that they subscribed to before it was there", group, (first, 6), (second, 4))
    bumped(report, broker, name, "the topic", before, 1)

    group.leave(other)
    share(report, name, "who stays takes over", group, (first, 6), (second, 4))
    late = Batch(second, 4, 0, 400, "late")
    late.produced_by(client)
    consume(report, name, "and goes on where the other was", group, late)
    group.leave(member)
    empty(report, broker, name, 10)

    matching = starts(f"matching-{name}")
    matching.join(f"(next|more)-{name}", command="match")
    share(report, name, "the broker matches a regular expression", matching, (first, 6), (second, 4))
    matching.leave(matching.members[0])
    client.quit()


def settled(broker, group):
    """The counters of the groups, once the members know what has happened."""
    for _ in range(REFRESH_ROUNDS):
        group.poll()
    stats = broker.stats()
    return stats and stats["groups"]


def bumped(report, broker, name, why, before, times):
    """The epoch of the one group rose so many times since."""
    if stats := broker.stats():
        risen = stats["groups"]["epoch_bumps"] - before["epoch_bumps"]
        report.check(f"{name}: {why}: {times} new epochs of the group", risen == times, stats["groups"])


def share(report, name, what, group, *topics):
    report.check(f"{name}: {what}", group.until(lambda: group.shares(*topics)), group.shown())


def consume(report, name, what, group, *batches):
    found = group.consumes(*batches)
    report.check(f"{name}: {what}", not found, found)


def empty(report, broker, name, offsets):
    """Nobody is left in any group."""
    if stats := broker.stats():
        groups = stats["groups"]
        report.check(f"{name}: the group is empty when all have left", groups["members"] == 0, groups)
        report.check(f"{name}: and has committed an offset for each partition", groups["offsets"] == offsets, groups)
