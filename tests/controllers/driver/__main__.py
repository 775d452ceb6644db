"""Brings Apache Kafka, takes controllers through the scenarios, and says what held."""

import argparse
import os
import shutil
import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import java
from admin import Refused
from cluster import Cluster
from example import SNAPSHOT_RECORDS, ExampleController
from kafka import KafkaController
from leads import leads
from membership import membership
from mixed import mixed
from process import Died, kill_all
from programs import Missing, build, limit
from report import Report
from seat import bootstrap, new_uuid, seats, static
from upgraded import upgraded, upgraded_alone

# The whole run, installation included, is over by then.
RUN_SECONDS = 900


def main():
    options = arguments()
    limit(RUN_SECONDS)
    report = Report()
    java.WORK.mkdir(parents=True, exist_ok=True)
    try:
        java.install()
    except Missing as error:
        (report.fail if os.environ.get("CI") == "true" else report.skip)("everything", error)
        report.close()
        return 1 if report.failed else 0

    @contextmanager
    def scenario(name):
        """A directory for the scenario; what breaks off the scenario is one failure of it."""
        print(f"\n== {name}", flush=True)
        directory = java.WORK / name
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        failed = report.failed
        try:
            yield directory
        except (Died, java.ToolFailed, Refused) as error:
            report.fail(name, error)
        finally:
            kill_all()
        if report.failed > failed:
            print(f"     what the nodes wrote is in {directory}", flush=True)
        else:
            shutil.rmtree(directory)

    kind = alone = KafkaController
    if not options.kafka:
        kind = partial(ExampleController, options.program or build("controller"))
        # Its snapshots are of records, not of what Kafka's controllers would make of them.
        alone = partial(kind, snapshot_records=SNAPSHOT_RECORDS)

    def take(steps, first, others, contact, *more):
        """Takes the steps with nodes of the first kind, and more of other kinds."""
        name = steps.__name__
        if not name.startswith(options.only):
            return
        with scenario(name) as directory:
            places = seats(range(1, others + len(more) + 1))
            cluster = new_uuid()
            known = contact(places[:others] if contact is bootstrap else places)
            nodes = [
                kind(cluster, seat, directory / f"node-{seat.id}", known)
                for kind, seat in zip([first] * others + list(more), places)
            ]
            steps(report, Cluster(directory, nodes[:others]), *nodes[others:])

    take(membership, alone, 3, bootstrap, alone)
    take(mixed, KafkaController, 3, bootstrap, kind)
    take(leads, KafkaController, 2, bootstrap, kind, KafkaController)
    take(upgraded, KafkaController, 2, static, kind)
    take(upgraded_alone, alone, 3, static)
    report.close()
    return 1 if report.failed else 0


def arguments():
    parser = argparse.ArgumentParser(prog="tests/controllers/run", description=__doc__)
    parser.add_argument("--only", default="", metavar="SCENARIO", help="scenarios whose names start so (all)")
    parser.add_argument("--program", type=Path, metavar="PATH", help="an example controller that is built already")
    parser.add_argument("--kafka", action="store_true", help="Kafka's own controllers in the place of the example's")
    return parser.parse_args()


sys.exit(main())
