"""Two of Kafka's controllers and a guest with static voters, upgraded to dynamic ones by Kafka's tool."""

from dump import dump
from checks import knows, leads_no_more, same_log


def upgraded(report, cluster, guest):
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

