"""Static voters, upgraded to dynamic ones by Kafka's tool."""

import java
from checks import knows, leads_no_more, same_log
from dump import dump
from membership import agree


def upgraded(report, cluster, guest):
    """Two of Kafka's controllers and a guest."""
    cluster.start(later=[guest])
    cluster.add(guest)
    cluster.caught_up(guest.id)
    status = cluster.tool.status()
    report.check("static voters have no directories", list(status.voters.values()) == [None] * 3, status)
    cluster.write()
    same_log(report, cluster, guest, "a static voter")
    cluster.upgrade("kraft.version", 1)
    status = cluster.tool.status()
    directories = {id: node.seat.directory for id, node in cluster.nodes.items()}
    report.check("the upgraded voters have directories", status.voters == directories, status)
    knows(report, guest, "they are the voters", lambda own: own.voters == sorted(directories))
    same_log(report, cluster, guest, "an upgraded voter")
    cluster.nodes[status.leader].kill()
    after = cluster.once("another leader is elected", lambda quorum: quorum.epoch > status.epoch)
    report.check("the guest's vote makes another leader", after.leader != status.leader, after)
    leads_no_more(cluster, guest)
    cluster.write()
    same_log(report, cluster, guest, "a voter of two that are left")
    dumped = dump(*sorted(guest.metadata.glob("*.log")))
    report.check("Kafka's tool reads the guest's log", dumped.batches and not dumped.invalid, dumped)
    report.check("with the upgraded voters", dumped.voter_sets == [[1, 2, 3]], dumped)
    cluster.stop()


def upgraded_alone(report, cluster):
    """Three nodes of one kind, whose leader does what the tool asks for."""
    cluster.start()
    status = cluster.tool.status()
    report.check("static voters have no directories", list(status.voters.values()) == [None] * 3, status)
    found = cluster.feature("kraft.version")
    report.check("kafka-features finds kraft.version at 0", found == ("0", "1", "0"), found)
    try:
        cluster.upgrade("kraft.version", 2)
        report.fail("a level that is not there is refused", "it was taken")
    except java.ToolFailed as refusal:
        report.check("a level that is not there is refused", "kraft.version" in str(refusal), refusal)
    cluster.upgrade("kraft.version", 1)
    status = cluster.tool.status()
    directories = {id: node.seat.directory for id, node in cluster.nodes.items()}
    report.check("the upgraded voters have directories", status.voters == directories, status)
    agree(report, cluster, status.leader, status.epoch, directories)
    found = cluster.feature("kraft.version")
    report.check("kafka-features finds kraft.version at 1", found == ("0", "1", "1"), found)
    dumped = dump(*sorted(cluster.nodes[status.leader].metadata.glob("*.log")))
    report.check(
        "the tool reads them in the leader's log", dumped.voter_sets == [[1, 2, 3]] and not dumped.invalid, dumped
    )
    cluster.stop()
