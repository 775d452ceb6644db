"""A member of a consumer group, by confluent-kafka."""

import sys

from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewPartitions

import member


class Member:
    def __init__(self, group, protocol, broker):
        self._broker = {"bootstrap.servers": broker}
        self._consumer = Consumer({
            **self._broker,
            "group.id": group,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
        })

    def subscribe(self, topics):
        self._consumer.subscribe(topics)

    def match(self, pattern):
        """This client takes for a regular expression what begins like one."""
        self._consumer.subscribe(["^" + pattern])

    def poll(self, timeout_ms):
        for message in self._consumer.consume(num_messages=500, timeout=timeout_ms / 1000):
            if message.error():
                print(f"{message.topic()}-{message.partition()}: {message.error()}", file=sys.stderr)
            else:
                yield message.topic(), message.partition(), message.offset(), message.value()

    def assignment(self):
        return ((partition.topic, partition.partition) for partition in self._consumer.assignment())

    def grow(self, topic, partitions):
        admin = AdminClient(self._broker)
        for future in admin.create_partitions([NewPartitions(topic, partitions)]).values():
            future.result(timeout=30)

    def close(self):
        self._consumer.close()


if __name__ == "__main__":
    member.obey(Member(*sys.argv[1:]))
