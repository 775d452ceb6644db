"""A member of a consumer group: reads the driver's commands, described in ../README.md, and lets a consumer obey them."""

import sys


def obey(consumer):
    for line in sys.stdin:
        words = line.split()
        if words == ["quit"]:
            break
        try:
            _obey(consumer, words)
            print("done", flush=True)
        except Exception as error:  # Whatever a client raises is the driver's to judge.
            print("failed", repr(error).replace("\n", " "), flush=True)
    consumer.close()


def _obey(consumer, words):
    match words:
        case ["subscribe", *topics]:
            consumer.subscribe(topics)
        case ["match", pattern]:
            consumer.match(pattern)
        case ["poll", polls, enough]:
            _poll(consumer, int(polls), int(enough))
        case ["assignment"]:
            for topic, partition in consumer.assignment():
                print("assigned", topic, partition)
        case ["grow", topic, partitions]:
            consumer.grow(topic, int(partitions))
        case _:
            raise ValueError(f"unknown command {words}")


def _poll(consumer, polls, enough):
    records = 0
    for _ in range(polls):
        for topic, partition, offset, value in consumer.poll(timeout_ms=5):
            records += 1
            print("record", topic, partition, offset, value.decode())
        if 0 < enough <= records:
            break
