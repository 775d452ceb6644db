"""Three of Kafka's controllers and a guest: the guest joins, votes, is needed, crashes, and leaves."""

import metadata
from cluster import wait
from kafka import KafkaController

# What is written to the metadata log; each value once.
SETTING = "log.cleaner.threads"


def mixed(report, cluster, guest):
    cluster.start()
    status = cluster.tool.status()
    report.check("Kafka's tool sees three voters and a leader", len(status.voters) == 3 and status.leader in status.voters, status)
    joins(report, cluster, guest)
    becomes_voter(report, cluster, guest)
    is_needed(report, cluster, guest)
    votes(report, cluster, guest)
    crashes(report, cluster, guest)
    changes_hands(report, cluster, guest)
    leaves(report, cluster, guest)
    loses_its_place(report, cluster, guest)
    cluster.stop()


def joins(report, cluster, guest):
    """A snapshot is taken first, so that the guest has to fetch that before the log."""
    cluster.admin.write(SETTING, 2)
    leader = cluster.nodes[cluster.quorum().leader]
    wait("the leader takes a snapshot", lambda: metadata.snapshots(leader.metadata))
    cluster.join(guest)
    quorum = cluster.once("the guest is an observer", lambda quorum: guest.id in quorum.observers)
    report.check("the leader knows the guest's directory", quorum.observers[guest.id] == guest.seat.directory, quorum)
    cluster.caught_up(guest.id)
    same_snapshot(report, leader, guest)
    same_log(report, cluster, guest, "an observer")


def becomes_voter(report, cluster, guest):
    said = cluster.tool.add(guest.properties)
    report.check("the tool adds the guest", said.startswith(f"Added controller {guest.id} "), said)
    status = cluster.tool.status()
    report.check("the guest is a voter", status.voters.get(guest.id) == guest.seat.directory, status)
    report.check("at its own endpoint", status.endpoints.get(guest.id) == [guest.seat.endpoint], status)
    report.check("among four", len(status.voters) == 4 and not status.observers, status)
    knows(report, guest, "it is a voter", lambda own: own.voters == sorted(status.voters))
    row = cluster.tool.replication()[guest.id]
    report.check("it follows the leader", row.role == "Follower" and row.directory == guest.seat.directory, row)


def is_needed(report, cluster, guest):
    """With one of four voters gone, nothing is committed without the guest."""
    leader = cluster.quorum().leader
    cluster.other(leader, guest.id).kill()
    before = cluster.quorum().high_watermark
    cluster.admin.write(SETTING, 3)
    report.check("with one controller dead a record is written", cluster.quorum().high_watermark > before)
    guest.pause()
    cluster.admin.begin_write(SETTING, 4)
    report.check("but none while the guest is stopped", not cluster.admin.answered(1))
    guest.resume()
    cluster.admin.finish()
    report.check("it is written once the guest goes on", True)


def votes(report, cluster, guest):
    """With one of four voters dead no leader is elected without the guest's vote."""
    before = cluster.quorum()
    dead = cluster.other(before.leader, guest.id)
    dead.start()
    dead.started()
    cluster.caught_up(dead.id)
    cluster.nodes[before.leader].kill()
    after = cluster.once("another leader is elected", lambda quorum: quorum.epoch > before.epoch)
    report.check("the guest's vote makes another leader", after.leader != before.leader, after)
    after = leads_no_more(cluster, guest)
    knows(report, guest, "it follows that leader", lambda own: (own.leader, own.epoch) == (after.leader, after.epoch))
    cluster.admin.write(SETTING, 5)
    cluster.caught_up(guest.id)
    same_log(report, cluster, guest, "a voter")
    restart(cluster, before.leader)


def crashes(report, cluster, guest):
    guest.kill()
    cluster.admin.write(SETTING, 6)
    restart(cluster, guest.id)
    status = cluster.tool.status()
    report.check("after a crash the guest is the voter it was", status.voters.get(guest.id) == guest.seat.directory, status)
    same_log(report, cluster, guest, "a voter that crashed")


def changes_hands(report, cluster, guest):
    """A controller of Kafka goes on in the guest's place, on its files, and the guest again on what that has left."""
    guest.stop()
    kafka = KafkaController(*guest.place)
    cluster.nodes[guest.id] = kafka
    restart(cluster, guest.id)
    cluster.admin.write(SETTING, 7)
    same_log(report, cluster, kafka, "a controller of Kafka's on the guest's files")
    kafka.stop()
    cluster.nodes[guest.id] = guest
    restart(cluster, guest.id)
    same_log(report, cluster, guest, "the guest on a Kafka controller's files")


def leaves(report, cluster, guest):
    said = cluster.tool.remove(guest.seat)
    report.check("the tool removes the guest", said.startswith("Removed ") and said.endswith(guest.seat.directory), said)
    quorum = cluster.once("the guest is an observer again", lambda quorum: guest.id in quorum.observers)
    report.check("and three voters are left", len(quorum.voters) == 3 and guest.id not in quorum.voters, quorum)
    knows(report, guest, "it is a voter no more", lambda own: guest.id not in own.voters)
    cluster.admin.write(SETTING, 8)
    cluster.caught_up(guest.id)
    same_log(report, cluster, guest, "a voter that was removed")


def loses_its_place(report, cluster, guest):
    """While the guest is away the log that it would go on with is deleted everywhere."""
    guest.kill()
    end = max(batch.end for batch in metadata.batches(guest.metadata))
    leader = cluster.nodes[cluster.quorum().leader]
    wait(
        f"the leader deletes its log up to {end}",
        lambda: (kept := metadata.snapshots(leader.metadata)) and metadata.offset(next(iter(kept))) > end,
        seconds=150,
    )
    restart(cluster, guest.id)
    same_snapshot(report, leader, guest)
    same_log(report, cluster, guest, "a replica that was away for too long")


def leads_no_more(cluster, guest):
    """Has the guest hand over if it was elected: as a leader it would have nothing to write."""
    while (quorum := cluster.once("there is a leader", lambda quorum: True)).leader == guest.id:
        guest.stop()
        restart(cluster, guest.id)
    return quorum


def restart(cluster, id):
    node = cluster.nodes[id]
    node.start()
    node.started()
    cluster.caught_up(id)


def same_snapshot(report, leader, guest):
    mine, theirs = metadata.snapshots(guest.metadata), metadata.snapshots(leader.metadata)
    common = max(mine.keys() & theirs.keys(), default=None)
    if report.check("the guest has fetched a snapshot of the leader's", common, f"{list(mine)}, not of {list(theirs)}"):
        report.check("with the same bytes", mine[common].read_bytes() == theirs[common].read_bytes())


def same_log(report, cluster, guest, state):
    """The guest's log and the leader's, up to what the leader has committed and both have written."""
    quorum = cluster.caught_up(guest.id)
    logs = guest.metadata, cluster.nodes[quorum.leader].metadata
    upto = min(quorum.high_watermark, quorum.ends[guest.id])
    report.check(f"{state} has the leader's log, {metadata.compared(*logs, upto)} batches", not (d := metadata.difference(*logs, upto)), d)


def knows(report, guest, what, condition):
    """What the guest itself says, if it is one that says."""
    if guest.status():
        report.check(f"the guest says that {what}", wait(what, lambda: condition(guest.status())))
