"""Three nodes of one kind: Kafka's tool and Admin client look at the quorum, change it, and are refused."""

import time
from dataclasses import replace
from itertools import groupby

import metadata
from admin import Refused
from cluster import wait
from dump import dump
from seat import free_ports, new_uuid


def membership(report, cluster, newcomer):
    cluster.start()
    described(report, cluster)
    newcomer.fill(cluster)
    cluster.join(newcomer)
    observed(report, cluster, newcomer)
    refused(report, cluster, newcomer)
    added(report, cluster, newcomer)
    removed(report, cluster, newcomer)
    second = leader_dies(report, cluster)
    last = leader_removed(report, cluster)
    for id in last.voters:
        cluster.caught_up(id)
    cluster.stop()
    written(report, cluster, [second.leader, last.leader], last)


def described(report, cluster):
    seats = {id: node.seat for id, node in cluster.nodes.items()}
    status = cluster.tool.status()
    report.check("the tool prints the cluster's id", status.cluster == cluster.id, status)
    report.check("a leader among the voters", status.leader in seats and status.epoch > 0, status)
    report.check("each voter's directory", status.voters == {id: seat.directory for id, seat in seats.items()}, status)
    report.check("and endpoint", status.endpoints == {id: [seat.endpoint] for id, seat in seats.items()}, status)
    report.check("no observers", not status.observers, status)
    agree(report, cluster, status.leader, status.epoch, status.voters)
    rows = cluster.tool.replication()
    roles = {id: row.role for id, row in rows.items()}
    expected = {id: "Leader" if id == status.leader else "Follower" for id in seats}
    report.check("the table has a leader and followers", roles == expected, rows)
    fresh = all(
        abs(time.time() * 1000 - at) < 20_000 for row in rows.values() for at in (row.last_fetch, row.last_caught_up)
    )
    report.check(
        "who all fetched lately and have caught up", fresh and all(row.lag <= 2 for row in rows.values()), rows
    )


def observed(report, cluster, newcomer):
    cluster.once("the newcomer is an observer", lambda quorum: newcomer.id in quorum.observers)
    cluster.caught_up(newcomer.id)
    row = cluster.tool.replication().get(newcomer.id)
    report.check("the newcomer is in the table as an observer", row and row.role == "Observer", row)
    report.check("with its directory", row and row.directory == newcomer.seat.directory, row)


def refused(report, cluster, newcomer):
    """What Kafka's controllers refuse, and with which error; nothing of it changes the voters."""
    before = cluster.quorum()
    voter = cluster.nodes[before.leader].seat
    moved = replace(voter, directory=new_uuid())
    nobody = replace(newcomer.seat, id=9, directory=new_uuid(), port=free_ports(1)[0])
    admin = cluster.admin
    elsewhere = new_uuid()
    expected = [
        ("adding a voter", "DuplicateVoterException", lambda: admin.add(voter)),
        ("adding a voter's id with another directory", "DuplicateVoterException", lambda: admin.add(moved)),
        (
            "adding under another cluster's id",
            "InconsistentClusterIdException",
            lambda: admin.add(newcomer.seat, cluster=elsewhere),
        ),
        ("adding without an endpoint", "InvalidRequestException", lambda: admin.add(newcomer.seat, endpoint="-")),
        (
            "adding at another listener",
            "InvalidRequestException",
            lambda: admin.add(newcomer.seat, endpoint=f"OTHER://{newcomer.seat.address}"),
        ),
        ("adding who cannot be reached", "TimeoutException", lambda: admin.add(nobody)),
        (
            "adding a directory that fetches nothing",
            "TimeoutException",
            lambda: admin.add(replace(newcomer.seat, directory=new_uuid())),
        ),
        ("removing who is no voter", "VoterNotFoundException", lambda: admin.remove(newcomer.seat)),
        ("removing a voter's id with another directory", "VoterNotFoundException", lambda: admin.remove(moved)),
        (
            "removing under another cluster's id",
            "InconsistentClusterIdException",
            lambda: admin.remove(voter, cluster=elsewhere),
        ),
    ]
    for what, error, call in expected:
        try:
            call()
            report.fail(f"{what} is refused", "it was done")
        except Refused as refusal:
            report.check(f"{what} is refused: {error}", refusal.error == error, refusal)
    after = cluster.once("the leader answers", lambda quorum: True)
    report.check("nothing has changed", after.voters == before.voters and after.leader == before.leader, after)


def added(report, cluster, newcomer):
    said = cluster.tool.add(newcomer.properties)
    id, directory, endpoint = newcomer.id, newcomer.seat.directory, newcomer.seat.endpoint
    expected = f"Added controller {id} with directory id {directory} and endpoints: {endpoint}"
    report.check("the tool adds the newcomer", said == expected, said)
    status = cluster.tool.status()
    report.check("it is a voter", status.voters.get(newcomer.id) == newcomer.seat.directory, status)
    report.check("at its endpoint", status.endpoints.get(newcomer.id) == [newcomer.seat.endpoint], status)
    report.check("and no observer", len(status.voters) == 4 and not status.observers, status)
    agree(report, cluster, status.leader, status.epoch, status.voters)


def removed(report, cluster, newcomer):
    said = cluster.tool.remove(newcomer.seat)
    report.check(
        "the tool removes it",
        said.split() == f"Removed KRaft controller {newcomer.id} with directory id {newcomer.seat.directory}".split(),
        said,
    )
    status = cluster.tool.status()
    report.check("it is no voter", newcomer.id not in status.voters and len(status.voters) == 3, status)
    agree(report, cluster, status.leader, status.epoch, status.voters)
    cluster.once("it is an observer again", lambda quorum: newcomer.id in quorum.observers)


def leader_dies(report, cluster):
    before = cluster.quorum()
    dead = cluster.nodes[before.leader]
    dead.kill()
    after = cluster.once("another leader is elected", lambda quorum: quorum.epoch > before.epoch)
    report.check(
        "when the leader dies another voter leads", after.leader in set(before.voters) - {before.leader}, after
    )
    dead.start()
    dead.started()
    cluster.caught_up(dead.id)
    after = cluster.quorum()
    report.check("the dead one comes back as a voter", after.voters == before.voters, after)
    agree(report, cluster, after.leader, after.epoch, after.voters)
    return after


def leader_removed(report, cluster):
    before = cluster.quorum()
    cluster.admin.remove(cluster.nodes[before.leader].seat)
    after = cluster.once("another leader is elected", lambda quorum: quorum.epoch > before.epoch)
    left = {id: directory for id, directory in before.voters.items() if id != before.leader}
    report.check("a leader that is removed leaves to the others", after.voters == left and after.leader in left, after)
    agree(report, cluster, after.leader, after.epoch, after.voters)
    return after


def written(report, cluster, leaders, last):
    """What Kafka's tool reads in the log that the nodes have left, and that they have all left the same."""
    logs = {id: node.metadata for id, node in cluster.nodes.items()}
    log = logs[last.leader]
    snapshots = metadata.snapshots(log).values()
    read = [dump(snapshot) for snapshot in snapshots]
    whole = all(snapshot.batches and not snapshot.invalid and snapshot.ends for snapshot in read)
    report.check(f"Kafka's tool reads {len(read)} snapshots", read and whole, read)
    dumped = dump(*snapshots, *sorted(log.glob("*.log")))
    report.check("and the log", dumped.batches and not dumped.invalid, dumped)
    ids = set(last.voters)
    steps = [[1, 2, 3], [1, 2, 3, 4], [1, 2, 3], sorted(ids)]
    # Each snapshot has the voters again; those that Kafka's controllers take go on being taken.
    order = [voters for voters, _ in groupby(dumped.voter_sets)]
    report.check("it finds each set of voters", order[-len(steps) :] == steps, order)
    elected = iter(dumped.leaders)
    report.check("and each leader", all(leader in elected for leader in leaders), f"{dumped}, not {leaders}")
    differences = [metadata.difference(logs[id], logs[last.leader], last.high_watermark) for id in ids]
    report.check("the voters' logs are equal", not any(differences), differences)


def agree(report, cluster, leader, epoch, voters):
    """What the running nodes themselves say, those that say anything."""
    nodes = [node for node in cluster.nodes.values() if node.running() and node.status()]
    for node in nodes:
        wait(
            f"node {node.id} says what the leader says: {leader} {epoch} {sorted(voters)}",
            lambda: (own := node.status()) and (own.leader, own.epoch, own.voters) == (leader, epoch, sorted(voters)),
        )
    if nodes:
        report.check("the nodes themselves say so", True)
