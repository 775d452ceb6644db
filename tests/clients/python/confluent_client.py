"""Obeys the driver's commands with confluent-kafka, whose wheel carries librdkafka."""

import sys

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

import commands


class Client:
    def __init__(self, broker):
        self._broker = {"bootstrap.servers": broker}
        self._producer = None
        self._failures = []
        self._consume("read_uncommitted")

    def _consume(self, isolation):
        self._consumer = Consumer({
            **self._broker,
            "group.id": "unused",  # The client insists on a name, though nothing joins a group.
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 20,
            "topic.metadata.refresh.interval.ms": 1000,
            "topic.metadata.propagation.max.ms": 1000,
            "isolation.level": isolation,
        })
        self._assigned = set()

    def create(self, topic, partitions):
        admin = AdminClient(self._broker)
        self._confirm(admin.create_topics([NewTopic(topic, partitions, 1)]))

    def delete(self, topic):
        admin = AdminClient(self._broker)
        self._confirm(admin.delete_topics([topic]))

    @staticmethod
    def _confirm(futures):
        for future in futures.values():
            future.result(timeout=30)

    def produce(self, topic, values):
        failures = []
        producer = Producer({**self._broker, "enable.idempotence": True})
        for partition, value in values:
            producer.produce(
                topic, partition=partition, value=value, on_delivery=lambda error, _: error and failures.append(error)
            )
        if producer.flush(30) or failures:
            raise KafkaException(f"not delivered: {failures[:1]}")

    def open(self, transactional_id):
        settings = {
            **self._broker,
            "enable.idempotence": True,
            "max.in.flight.requests.per.connection": 5,
            "batch.size": 4096,
            "linger.ms": 0,
            "reconnect.backoff.max.ms": 200,
        }
        if transactional_id is not None:
            settings["transactional.id"] = transactional_id
        self._producer = Producer(settings)
        self._failures = []
        if transactional_id is not None:
            self._producer.init_transactions(30)

    def send(self, topic, values):
        failures = self._failures
        for partition, value in values:
            record = {"topic": topic, "partition": partition, "value": value}
            record["on_delivery"] = lambda error, _: error and failures.append(error)
            while True:
                try:
                    self._producer.produce(**record)
                    break
                except BufferError:  # The queue is full.
                    self._producer.poll(0.1)

    def flush(self):
        if left := self._producer.flush(100):
            raise KafkaException(f"{left} records are not delivered")
        if self._failures:
            raise KafkaException(f"not delivered: {self._failures[0]}")

    def begin(self):
        self._producer.begin_transaction()

    def commit(self):
        self.flush()
        self._producer.commit_transaction(30)

    def abort(self):
        self._producer.abort_transaction(30)

    def close_producer(self):
        self._producer = None

    def committed(self):
        self._consumer.close()
        self._assigned = set()
        self._consume("read_committed")

    def assign(self, partitions):
        added, removed = partitions - self._assigned, self._assigned - partitions
        if removed:
            self._consumer.incremental_unassign([TopicPartition(*removal) for removal in removed])
        self._consumer.incremental_assign([TopicPartition(*addition, OFFSET_BEGINNING) for addition in added])
        self._assigned = partitions

    def recreated(self, topic):
        """Nothing to do: this client learns the new id with its metadata and resets its offsets by itself."""

    def poll(self, timeout_ms):
        for message in self._consumer.consume(num_messages=500, timeout=timeout_ms / 1000):
            if message.error():
                print(f"fetch of {message.topic()}-{message.partition()}: {message.error()}", file=sys.stderr)
            else:
                yield message.topic(), message.partition(), message.offset(), message.value()

    def close(self):
        self._consumer.close()


if __name__ == "__main__":
    commands.obey(Client(sys.argv[1]))
