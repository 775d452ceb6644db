// Obeys the driver's commands with Apache Kafka's Java client. The commands are described in ../README.md.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public final class Client {
    private static final Duration POLL = Duration.ofMillis(5);

    private final String broker;
    private KafkaConsumer<String, String> consumer;
    private Set<TopicPartition> assigned = Set.of();
    private KafkaProducer<String, String> producer;
    private final AtomicReference<Exception> failure = new AtomicReference<>();

    private Client(String broker) {
        this.broker = broker;
        this.consumer = consumer("read_uncommitted");
    }

    private KafkaConsumer<String, String> consumer(String isolation) {
        return new KafkaConsumer<>(Map.of(
            "bootstrap.servers", broker,
            "auto.offset.reset", "earliest",
            "enable.auto.commit", false,
            "fetch.max.wait.ms", 20,
            "isolation.level", isolation,
            "metadata.max.age.ms", 1000),
            new StringDeserializer(), new StringDeserializer());
    }

    private void obey(String[] words) throws Exception {
        switch (words[0]) {
            case "create" -> create(words[1], Integer.parseInt(words[2]));
            case "delete" -> delete(words[1]);
            case "produce" -> produce(words[1], Integer.parseInt(words[2]), Integer.parseInt(words[3]),
                Integer.parseInt(words[4]), words[5]);
            case "assign" -> assign(Arrays.copyOfRange(words, 1, words.length));
            case "recreated" -> { } // The consumer learns the new id with its metadata and resets its offsets itself.
            case "poll" -> poll(Integer.parseInt(words[1]), Integer.parseInt(words[2]));
            case "committed" -> {
                consumer.close();
                assigned = Set.of();
                consumer = consumer("read_committed");
            }
            case "open" -> open(words[1]);
            case "send" -> send(words[1], Integer.parseInt(words[2]), Integer.parseInt(words[3]),
                Integer.parseInt(words[4]), words[5]);
            case "flush" -> flush();
            case "begin" -> producer.beginTransaction();
            case "commit" -> {
                flush();
                producer.commitTransaction();
            }
            case "abort" -> producer.abortTransaction();
            default -> throw new IllegalArgumentException("unknown command " + words[0]);
        }
    }

    private void create(String topic, int partitions) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", broker))) {
            admin.createTopics(List.of(new NewTopic(topic, partitions, (short) 1))).all().get();
        }
    }

    private void delete(String topic) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", broker))) {
            admin.deleteTopics(List.of(topic)).all().get();
        }
    }

    private void produce(String topic, int partitions, int from, int count, String label) throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>(count);
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(
                Map.of("bootstrap.servers", broker), new StringSerializer(), new StringSerializer())) {
            for (int i = from; i < from + count; i++) {
                sent.add(producer.send(new ProducerRecord<>(topic, i % partitions, null, label + "-" + i)));
            }
            producer.flush();
        }
        for (Future<RecordMetadata> acknowledged : sent) {
            acknowledged.get();
        }
    }

    private void open(String transactionalId) {
        closeProducer();
        failure.set(null);
        Map<String, Object> settings = new HashMap<>(Map.of(
            "bootstrap.servers", broker,
            "enable.idempotence", true,
            "max.in.flight.requests.per.connection", 5,
            "batch.size", 4096,
            "reconnect.backoff.max.ms", 200));
        if (!transactionalId.equals("-")) {
            settings.put("transactional.id", transactionalId);
        }
        producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
        if (!transactionalId.equals("-")) {
            producer.initTransactions();
        }
    }

    private void send(String topic, int partitions, int from, int count, String label) {
        for (int i = from; i < from + count; i++) {
            producer.send(new ProducerRecord<>(topic, i % partitions, null, label + "-" + i),
                (sent, error) -> failure.compareAndSet(null, error));
        }
    }

    private void flush() throws Exception {
        producer.flush();
        Exception error = failure.getAndSet(null);
        if (error != null) {
            throw error;
        }
    }

    private void closeProducer() {
        if (producer != null) {
            producer.close(Duration.ofSeconds(10));
            producer = null;
        }
    }

    private void assign(String[] topics) {
        Set<TopicPartition> wanted = new HashSet<>();
        for (String topic : topics) {
            int colon = topic.lastIndexOf(':');
            for (int p = 0; p < Integer.parseInt(topic.substring(colon + 1)); p++) {
                wanted.add(new TopicPartition(topic.substring(0, colon), p));
            }
        }
        Set<TopicPartition> added = new HashSet<>(wanted);
        added.removeAll(assigned);
        consumer.assign(wanted);
        consumer.seekToBeginning(added);
        assigned = wanted;
    }

    private void poll(int polls, int enough) {
        int records = 0;
        for (int i = 0; i < polls && (enough == 0 || records < enough); i++) {
            for (ConsumerRecord<String, String> record : consumer.poll(POLL)) {
                records++;
                System.out.printf(
                    "record %s %d %d %s%n", record.topic(), record.partition(), record.offset(), record.value());
            }
        }
    }

    public static void main(String[] arguments) throws IOException {
        Client client = new Client(arguments[0]);
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null && !line.equals("quit"); line = commands.readLine()) {
            try {
                client.obey(line.split(" "));
                System.out.println("done");
            } catch (Exception error) {
                System.out.println("failed " + error);
            }
        }
        client.closeProducer();
        client.consumer.close();
    }
}
