"""A member of a consumer group, by kafka-python."""

import logging
import sys

from kafka import KafkaConsumer

import member


class Member:
    def __init__(self, group, _, broker):
        self._consumer = KafkaConsumer(bootstrap_servers=broker, group_id=group, auto_offset_reset="earliest")

    def subscribe(self, topics):
        self._consumer.subscribe(topics)

    def poll(self, timeout_ms):
        for records in self._consumer.poll(timeout_ms=timeout_ms).values():
            for record in records:
                yield record.topic, record.partition, record.offset, record.value

    def assignment(self):
        return ((partition.topic, partition.partition) for partition in self._consumer.assignment())

    def close(self):
        self._consumer.close()


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    member.obey(Member(*sys.argv[1:]))
