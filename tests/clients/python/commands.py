"""Reads the driver's commands, described in ../README.md, and lets a client obey them."""

import sys


def obey(client):
    for line in sys.stdin:
        words = line.split()
        if words == ["quit"]:
            break
        try:
            _obey(client, words)
            print("done", flush=True)
        except Exception as error:  # Whatever a client raises is the driver's to judge.
            print("failed", repr(error).replace("\n", " "), flush=True)
    client.close_producer()
    client.close()


def _obey(client, words):
    match words:
        case ["create", topic, partitions]:
            client.create(topic, int(partitions))
        case ["delete", topic]:
            client.delete(topic)
        case ["produce" | "send" as how, topic, partitions, start, count, label]:
            numbers = range(int(start), int(start) + int(count))
            values = ((i % int(partitions), f"{label}-{i}".encode()) for i in numbers)
            getattr(client, how)(topic, values)
        case ["assign", *topics]:
            pairs = (topic.rsplit(":", 1) for topic in topics)
            client.assign({(topic, p) for topic, partitions in pairs for p in range(int(partitions))})
        case ["recreated", topic, _]:
            client.recreated(topic)
        case ["poll", polls, enough]:
            _poll(client, int(polls), int(enough))
        case ["open", transactional_id]:
            client.close_producer()
            client.open(None if transactional_id == "-" else transactional_id)
        case ["flush" | "begin" | "commit" | "abort" | "committed" as what]:
            getattr(client, what)()
        case _:
            raise ValueError(f"unknown command {words}")


def _poll(client, polls, enough):
    records = 0
    for _ in range(polls):
        for topic, partition, offset, value in client.poll(timeout_ms=5):
            records += 1
            print("record", topic, partition, offset, value.decode())
        if 0 < enough <= records:
            break
