"""Two of Kafka's controllers and a guest that comes to lead them: they follow, and take over when it goes."""

import metadata
from checks import knows, learns_where, same_log, same_snapshot
from cluster import wait


def leads(report, cluster, guest, newcomer):
    cluster.start(later=[guest])
    leader = cluster.snapshot()
    cluster.add(guest)
    cluster.caught_up(guest.id)
    same_snapshot(report, leader, guest)
    first, second = is_elected(report, cluster, guest)
    is_followed(report, cluster, guest, first, second)
    serves_a_newcomer(report, cluster, guest, newcomer)
    changes_voters(report, cluster, guest, second)
    hands_over(report, cluster, guest)
    newcomer.kill()
    cluster.admin.remove(newcomer.seat)
    first, second = is_elected(report, cluster, guest)
    forgets(report, cluster, guest, first, second)
    cluster.stop()


def is_elected(report, cluster, guest):
    """The log of the controller that is left does not go beyond the guest's, and it asks for no votes."""
    before = cluster.quorum()
    first = cluster.nodes[before.leader]
    second = next(cluster.nodes[id] for id in before.voters if id not in (first.id, guest.id))
    second.stop()
    second.be_patient()
    cluster.caught_up(guest.id)
    first.kill()
    second.start()
    second.started()
    after = cluster.once("the guest leads", lambda quorum: quorum.leader == guest.id)
    report.check(
        "a controller of Kafka's elects the guest", after.epoch > before.epoch and after.voters == before.voters, after
    )
    return first, second


def is_followed(report, cluster, guest, first, second):
    """The controller that was killed may have more in its log, which it gives up."""
    cluster.restart(first.id)
    cluster.caught_up(second.id)
    status = cluster.tool.status()
    report.check("Kafka's tool sees the guest lead", status.leader == guest.id, status)
    report.check("in a quorum of three", len(status.voters) == 3 and not status.observers, status)
    rows = cluster.tool.replication()
    caught_up = all(rows[node.id].role == "Follower" and rows[node.id].lag == 0 for node in (first, second))
    report.check("Kafka's controllers follow it and have caught up", caught_up, rows)
    for node in (first, second):
        difference = metadata.difference(node.metadata, guest.metadata, status.high_watermark)
        report.check(f"controller {node.id} has the guest's log", not difference, difference)


def serves_a_newcomer(report, cluster, guest, newcomer):
    """A controller without a log gets the snapshot that the guest got, and adds itself to the voters."""
    newcomer.join_by_itself()
    cluster.join(newcomer)
    quorum = cluster.once("the newcomer is a voter", lambda quorum: newcomer.id in quorum.voters)
    report.check("a controller of Kafka's adds itself", quorum.voters[newcomer.id] == newcomer.seat.directory, quorum)
    quorum = cluster.caught_up(newcomer.id)
    same_snapshot(report, guest, newcomer)
    difference = metadata.difference(newcomer.metadata, guest.metadata, quorum.high_watermark)
    report.check("it has the guest's log", not difference, difference)
    newcomer.kill()
    newcomer.move()
    cluster.restart(newcomer.id)
    learns_where(report, cluster, newcomer)


def changes_voters(report, cluster, guest, second):
    said = cluster.tool.remove(second.seat)
    report.check("the guest removes a controller of Kafka's", said.startswith("Removed"), said)
    cluster.once("that is an observer", lambda quorum: second.id in quorum.observers)
    said = cluster.tool.add(second.properties)
    report.check("and adds it again", said.startswith("Added"), said)
    quorum = cluster.caught_up(second.id)
    report.check("as the voter it was", quorum.voters.get(second.id) == second.seat.directory, quorum)
    difference = metadata.difference(second.metadata, guest.metadata, quorum.high_watermark)
    report.check("with the guest's log", not difference, difference)


def hands_over(report, cluster, guest):
    before = cluster.quorum()
    guest.stop()
    after = cluster.once("another leads", lambda quorum: quorum.leader != guest.id)
    report.check("when the guest ends a controller of Kafka's takes over", after.epoch > before.epoch, after)
    cluster.write()
    cluster.restart(guest.id)
    same_log(report, cluster, guest, "a leader that came back")


def forgets(report, cluster, guest, first, second):
    """The guest gives up what only it has written, a set of voters, when it finds that others have gone on."""
    first.be_patient(False)
    cluster.restart(first.id)
    cluster.caught_up(second.id)
    before = cluster.quorum()
    admin = cluster.another_admin()
    admin.quorum()
    for node in (first, second):
        node.kill()
    end = metadata.end(guest.metadata)
    admin.begin_remove(second.seat)
    wait("the guest writes a set of voters", lambda: metadata.end(guest.metadata) > end)
    admin.kill()
    guest.kill()
    second.be_patient(False)
    for node in (first, second):
        node.start()
    for node in (first, second):
        node.started()
    after = cluster.once("another leads", lambda quorum: quorum.epoch > before.epoch)
    report.check("voters that were not committed are none", after.voters == before.voters, after)
    cluster.write()
    cluster.restart(guest.id)
    knows(report, guest, "the voters are the old ones", lambda own: own.voters == sorted(before.voters))
    same_log(report, cluster, guest, "a leader that had written alone")
