// A member of a consumer group, by Apache Kafka's Java client. The commands are described in ../README.md.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

public final class Member {
    private static final Duration POLL = Duration.ofMillis(5);

    private final String broker;
    private final KafkaConsumer<String, String> consumer;

    private Member(String group, String protocol, String broker) {
        this.broker = broker;
        this.consumer = new KafkaConsumer<>(Map.of(
            "bootstrap.servers", broker,
            "group.id", group,
            "group.protocol", protocol,
            "auto.offset.reset", "earliest"),
            new StringDeserializer(), new StringDeserializer());
    }

    private void obey(String[] words) throws Exception {
        switch (words[0]) {
            case "subscribe" -> consumer.subscribe(Arrays.asList(words).subList(1, words.length));
            case "match" -> consumer.subscribe(new SubscriptionPattern(words[1]));
            case "poll" -> poll(Integer.parseInt(words[1]), Integer.parseInt(words[2]));
            case "assignment" -> {
                for (TopicPartition partition : consumer.assignment()) {
                    System.out.printf("assigned %s %d%n", partition.topic(), partition.partition());
                }
            }
            case "grow" -> grow(words[1], Integer.parseInt(words[2]));
            default -> throw new IllegalArgumentException("unknown command " + words[0]);
        }
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

    private void grow(String topic, int partitions) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", broker))) {
            admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(partitions))).all().get();
        }
    }

    public static void main(String[] arguments) throws IOException {
        Member member = new Member(arguments[0], arguments[1], arguments[2]);
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null && !line.equals("quit"); line = commands.readLine()) {
            try {
                member.obey(line.split(" "));
                System.out.println("done");
            } catch (Exception error) {
                System.out.println("failed " + error);
            }
        }
        member.consumer.close();
    }
}
