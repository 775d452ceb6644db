"""Obeys the driver's commands with kafka-python."""

import logging
import sys

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition

import commands


class Client:
    def __init__(self, broker):
        self._broker = broker
        self._producer = None
        self._failures = []
        self._consume("read_uncommitted")

    def _consume(self, isolation):
        self._consumer = KafkaConsumer(
            bootstrap_servers=self._broker,
            auto_offset_reset="earliest",
            fetch_max_wait_ms=20,
            metadata_max_age_ms=1000,
            isolation_level=isolation,
        )

    def create(self, topic, partitions):
        with KafkaAdminClient(bootstrap_servers=self._broker) as admin:
            admin.create_topics({topic: {"num_partitions": partitions, "replication_factor": 1}})

    def delete(self, topic):
        with KafkaAdminClient(bootstrap_servers=self._broker) as admin:
            admin.delete_topics([topic])

    def produce(self, topic, values):
        producer = KafkaProducer(bootstrap_servers=self._broker)
        try:
            sent = [producer.send(topic, partition=p, value=value) for p, value in values]
            producer.flush(timeout=30)
            for acknowledged in sent:
                acknowledged.get(timeout=30)
        finally:
            producer.close(timeout=10)

    def open(self, transactional_id):
        self._producer = KafkaProducer(
            bootstrap_servers=self._broker,
            enable_idempotence=True,
            transactional_id=transactional_id,
            max_in_flight_requests_per_connection=5,
            batch_size=4096,
            reconnect_backoff_max_ms=200,
        )
        self._failures = []
        if transactional_id is not None:
            self._producer.init_transactions()

    def send(self, topic, values):
        for partition, value in values:
            self._producer.send(topic, partition=partition, value=value).add_errback(self._failures.append)

    def flush(self):
        self._producer.flush(timeout=100)
        if self._failures:
            raise self._failures[0]

    def begin(self):
        self._producer.begin_transaction()

    def commit(self):
        self.flush()
        self._producer.commit_transaction()

    def abort(self):
        self._producer.abort_transaction()

    def close_producer(self):
        if self._producer is not None:
            self._producer.close(timeout=10)
            self._producer = None

    def committed(self):
        self._consumer.close()
        self._consume("read_committed")

    def assign(self, partitions):
        wanted = {TopicPartition(topic, p) for topic, p in partitions}
        added = wanted - self._consumer.assignment()
        self._consumer.assign(sorted(wanted))
        self._consumer.seek_to_beginning(*added)

    def recreated(self, topic):
        """This client fetches by name and cannot see a new id: the application has it start over.

        Left alone it takes the shorter log for a truncated one and goes on at that log's end.
        """
        self._consumer.seek_to_beginning(*(p for p in self._consumer.assignment() if p.topic == topic))

    def poll(self, timeout_ms):
        for records in self._consumer.poll(timeout_ms=timeout_ms).values():
            for record in records:
                yield record.topic, record.partition, record.offset, record.value

    def close(self):
        self._consumer.close()


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    commands.obey(Client(sys.argv[1]))
