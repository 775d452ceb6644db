"""Three of Kafka's controllers and a guest: the guest joins, votes, is needed, crashes, and leaves."""

import metadata
from checks import knows, leads_no_more, learns_where, same_log, same_snapshot
from cluster import wait
from kafka import KafkaController


def mixed(report, cluster, guest):
    cluster.start()
    status = cluster.tool.status()
    report.check(
        "Kafka's tool sees three voters and a leader",
        len(status.voters) == 3 and status.leader in status.voters,
        status,
    )
    joins(report, cluster, guest)
    becomes_voter(report, cluster, guest)
    is_needed(report, cluster, guest)
    votes(report, cluster, guest)
    crashes(report, cluster, guest)
    changes_hands(report, cluster, guest)
    moves(report, cluster, guest)
    leaves(report, cluster, guest)
    comes_by_itself(report, cluster, guest)
    loses_its_place(report, cluster, guest)
    cluster.stop()


def joins(report, cluster, guest):
    """A snapshot is taken first, so that the guest has to fetch that before the log."""
    leader = cluster.snapshot()
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
    cluster.write()
    report.check("with one controller dead a record is written", cluster.quorum().high_watermark > before)
    guest.pause()
    cluster.begin_write()
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
    cluster.write()
    cluster.caught_up(guest.id)
    same_log(report, cluster, guest, "a voter")
    cluster.restart(before.leader)


def crashes(report, cluster, guest):
    guest.kill()
    cluster.write()
    cluster.restart(guest.id)
    status = cluster.tool.status()
    report.check(
        "after a crash the guest is the voter it was", status.voters.get(guest.id) == guest.seat.directory, status
    )
    same_log(report, cluster, guest, "a voter that crashed")


def changes_hands(report, cluster, guest):
    """A controller of Kafka goes on in the guest's place, on its files, and the guest again on what that has left."""
    guest.stop()
    kafka = KafkaController(*guest.place)
    cluster.nodes[guest.id] = kafka
    cluster.restart(guest.id)
    cluster.write()
    same_log(report, cluster, kafka, "a controller of Kafka's on the guest's files")
    kafka.stop()
    cluster.nodes[guest.id] = guest
    cluster.restart(guest.id)
    same_log(report, cluster, guest, "the guest on a Kafka controller's files")


def moves(report, cluster, guest):
    guest.kill()
    guest.move()
    cluster.restart(guest.id)
    learns_where(report, cluster, guest)


def leaves(report, cluster, guest):
    said = cluster.tool.remove(guest.seat)
    report.check(
        "the tool removes the guest", said.startswith("Removed ") and said.endswith(guest.seat.directory), said
    )
    quorum = cluster.once("the guest is an observer again", lambda quorum: guest.id in quorum.observers)
    report.check("and three voters are left", len(quorum.voters) == 3 and guest.id not in quorum.voters, quorum)
    knows(report, guest, "it is a voter no more", lambda own: guest.id not in own.voters)
    cluster.write()
    cluster.caught_up(guest.id)
    same_log(report, cluster, guest, "a voter that was removed")


def comes_by_itself(report, cluster, guest):
    """With controller.quorum.auto.join.enable nobody has to add the guest."""
    guest.kill()
    guest.join_by_itself()
    cluster.restart(guest.id)
    quorum = cluster.once("the guest is a voter again", lambda quorum: guest.id in quorum.voters)
    report.check("the guest adds itself", quorum.voters[guest.id] == guest.seat.directory, quorum)
    same_log(report, cluster, guest, "a voter that added itself")


def loses_its_place(report, cluster, guest):
    """While the guest is away the log that it would go on with is deleted everywhere."""
    guest.kill()
    end = metadata.end(guest.metadata)
    leader = cluster.nodes[cluster.quorum().leader]
    wait(
        f"the leader deletes its log up to {end}",
        lambda: (kept := metadata.snapshots(leader.metadata)) and metadata.offset(next(iter(kept))) > end,
        seconds=150,
    )
    cluster.restart(guest.id)
    same_snapshot(report, leader, guest)
    same_log(report, cluster, guest, "a replica that was away for too long")
