"""Installs the clients, takes them through the scenarios, and says what held."""

import argparse
import os
import shutil
import sys
from contextlib import contextmanager
from itertools import count

import exactly_once
import groups
import scenarios
from broker import Broker, Elsewhere
from client import Client, Failed
from kinds import KINDS, WORK
from members import Group, Member
from process import Died, kill_all
from programs import Missing, build, limit
from seen import SeenReport

# The whole run, installation included, is over by then.
RUN_SECONDS = 1800


def main():
    options = arguments()
    limit(RUN_SECONDS)
    report = SeenReport()
    logs = WORK / "logs"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True, exist_ok=True)
    program = None if options.against else options.program or build("broker")
    commands = installed(report, options.clients)

    @contextmanager
    def scenario(name, *switches):
        """A broker for the scenario; what breaks off the scenario is one failure of it."""

        def connect(kind):
            return Client(kind, commands[kind], broker.address, logs / f"{name}.{kind.name}.log")

        print(f"\n== {name}", flush=True)
        try:
            if options.against:
                broker = Elsewhere(options.against)
            else:
                broker = Broker(program, logs / f"{name}.broker.log", *switches)
            yield broker, connect
            if stats := broker.stop():
                report.saw(stats)
        except (Died, Failed) as error:
            report.fail(name, error)
        finally:
            kill_all()

    def starts(name, kind, broker, protocol):
        """What makes a group of members of this client; each writes a log of its own."""
        logged = (logs / f"{name}.member-{n}.log" for n in count(1))
        return lambda group: Group(
            lambda: Member(kind, commands[kind], group, protocol, broker.address, next(logged))
        )

    def wanted(name):
        return name.startswith(options.only)

    kinds = list(commands)
    for kind in kinds:
        if wanted(name := f"life-{kind.name}"):
            with scenario(name) as (broker, connect):
                scenarios.life(report, broker, connect, kind)
    if len(kinds) > 1 and wanted("together"):
        with scenario("together") as (broker, connect):
            scenarios.together(report, broker, connect, kinds)
    for code in (71, 70):
        if kinds and not options.against and wanted(name := f"answer-{code}"):
            with scenario(name, f"--answer-{code}-once") as (broker, connect):
                for kind in kinds:
                    scenarios.fault(report, broker, connect, kind, code)
    for kind in kinds:
        name = f"group-{kind.name}"
        if wanted(name):
            with scenario(name) as (broker, connect):
                groups.classic(report, broker, connect(kind), starts(name, kind, broker, "classic"))
        name = f"next-generation-{kind.name}"
        if kind.name in groups.NEXT_GENERATION and wanted(name):
            with scenario(name, "--heartbeat", "500") as (broker, connect):
                members = starts(name, kind, broker, "consumer")
                groups.next_generation(report, broker, connect(kind), members)
    if kinds and not options.against and wanted("idempotent"):
        with scenario("idempotent", *stored()) as (broker, connect):
            exactly_once.idempotent(report, broker, connect, kinds, options.records)
    if kinds and not options.against and wanted("transactions"):
        with scenario("transactions", *stored()) as (broker, connect):
            exactly_once.transactions(report, broker, connect, kinds)
    report.close()
    return 1 if report.failed else 0


def arguments():
    parser = argparse.ArgumentParser(prog="tests/clients/run", description=__doc__)
    names = [kind.name for kind in KINDS]
    parser.add_argument("clients", nargs="*", default=names, metavar="CLIENT", help=f"of {', '.join(names)} (all)")
    parser.add_argument("--against", metavar="HOST:PORT", help="a broker that runs already, without its counters")
    parser.add_argument("--only", default="", metavar="SCENARIO", help="scenarios whose names start so (all)")
    parser.add_argument(
        "--records", type=int, default=100_000, metavar="N", help="of each partition in `idempotent` (100000)"
    )
    parser.add_argument("--program", metavar="PATH", help="a broker that is built already")
    options = parser.parse_args()
    if unknown := set(options.clients) - set(names):
        parser.error(f"no such client: {', '.join(sorted(unknown))}")
    return options


def stored():
    """Has a broker keep its data, in small files and an empty directory, and lose answers to produce requests."""
    directory = WORK / "data"
    shutil.rmtree(directory, ignore_errors=True)
    return "--data-dir", str(directory), "--segment-bytes", "262144", "--drop-responses", "0.05"


def installed(report, names):
    """The command of each client; one that cannot be installed is left out, which CI takes for a failure."""
    commands = {}
    for kind in KINDS:
        if kind.name in names:
            try:
                commands[kind] = kind.install()
                print(f"installed {kind.name}", flush=True)
            except Missing as error:
                outcome = report.fail if os.environ.get("CI") == "true" else report.skip
                outcome(kind.name, error)
    return commands


sys.exit(main())
