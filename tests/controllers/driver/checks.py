"""What several scenarios check of a guest in a quorum of Kafka's controllers."""

import metadata
from cluster import wait


def leads_no_more(cluster, guest):
    """Has the guest hand over if it was elected: as a leader it would have nothing to write."""
    while (quorum := cluster.once("there is a leader", lambda quorum: True)).leader == guest.id:
        guest.stop()
        cluster.restart(guest.id)
    return quorum


def same_snapshot(report, leader, follower):
    mine, theirs = metadata.snapshots(follower.metadata), metadata.snapshots(leader.metadata)
    common = max(mine.keys() & theirs.keys(), default=None)
    what = f"node {follower.id} has fetched a snapshot of the leader's"
    if report.check(what, common, f"{list(mine)}, not of {list(theirs)}"):
        mine, theirs = mine[common].read_bytes(), theirs[common].read_bytes()
        report.check(f"with the same {len(theirs)} bytes", mine == theirs)


def same_log(report, cluster, guest, state):
    """The guest's log and the leader's, up to what the leader has committed and both have written."""
    for _ in range(3):
        cluster.write()
    quorum = cluster.caught_up(guest.id)
    logs = guest.metadata, cluster.nodes[quorum.leader].metadata
    upto = min(quorum.high_watermark, quorum.ends[guest.id])
    report.check(
        f"{state} has the leader's log, {metadata.compared(*logs, upto)} batches",
        not (d := metadata.difference(*logs, upto)),
        d,
    )


def learns_where(report, cluster, moved):
    """A voter tells the leader of its new endpoint, and goes on as the voter that it was."""
    at = [moved.seat.endpoint]
    status = wait(
        "the voter has told where it is", lambda: (s := cluster.tool.status()).endpoints.get(moved.id) == at and s
    )
    directory = status.voters.get(moved.id)
    report.check(f"the leader learns where voter {moved.id} is now", directory == moved.seat.directory, status)


def knows(report, guest, what, condition):
    """What the guest itself says, if it is one that says."""
    if guest.status():
        report.check(f"the guest says that {what}", wait(what, lambda: condition(guest.status())))
