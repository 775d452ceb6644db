// Obeys the driver's commands with Apache Kafka's Admin client. The commands are described in ../README.md.

import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.AddRaftVoterOptions;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.QuorumInfo;
import org.apache.kafka.clients.admin.RaftVoterEndpoint;
import org.apache.kafka.clients.admin.RemoveRaftVoterOptions;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.message.ControllerRegistrationRequestData;
import org.apache.kafka.common.message.ControllerRegistrationRequestData.Feature;
import org.apache.kafka.common.message.ControllerRegistrationRequestData.Listener;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.ControllerRegistrationRequest;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.utils.Utils;

public final class Quorum {
    private static final ConfigResource EVERY_BROKER = new ConfigResource(ConfigResource.Type.BROKER, "");

    private final Admin admin;

    private Quorum(String controllers) {
        this.admin = Admin.create(Map.of(
            "bootstrap.controllers", controllers,
            "reconnect.backoff.max.ms", 200,
            "metadata.max.age.ms", 1000,
            "request.timeout.ms", 5000,
            "default.api.timeout.ms", 15000));
    }

    private void obey(String[] words) throws Exception {
        switch (words[0]) {
            case "describe" -> describe();
            case "add" -> admin.addRaftVoter(Integer.parseInt(words[1]), Uuid.fromString(words[2]), endpoints(words[3]),
                new AddRaftVoterOptions().setClusterId(cluster(words, 4))).all().get();
            case "remove" -> admin.removeRaftVoter(Integer.parseInt(words[1]), Uuid.fromString(words[2]),
                new RemoveRaftVoterOptions().setClusterId(cluster(words, 3))).all().get();
            case "write" -> write(Integer.parseInt(words[1]), Integer.parseInt(words[2]), words[3]);
            case "register" -> register(Integer.parseInt(words[1]), words[2]);
            default -> throw new IllegalArgumentException("unknown command " + words[0]);
        }
    }

    private void describe() throws Exception {
        QuorumInfo quorum = admin.describeMetadataQuorum().quorumInfo().get();
        System.out.printf("quorum %d %d %d%n", quorum.leaderId(), quorum.leaderEpoch(), quorum.highWatermark());
        print("voter", quorum.voters());
        print("observer", quorum.observers());
    }

    /** Sets so many configurations of all brokers that nobody reads, each to a text of so many bytes. */
    private void write(int count, int bytes, String text) throws Exception {
        List<AlterConfigOp> changes = new ArrayList<>();
        for (int n = 0; n < count; n++) {
            ConfigEntry entry = new ConfigEntry("written." + n, text.repeat(bytes / text.length() + 1));
            changes.add(new AlterConfigOp(entry, AlterConfigOp.OpType.SET));
        }
        admin.incrementalAlterConfigs(Map.of(EVERY_BROKER, changes)).all().get();
    }

    /** Tells the leader what a voter supports, as a controller does whose state machine is the cluster's metadata. */
    private void register(int id, String endpoint) throws Exception {
        Endpoint at = Endpoint.of(endpoint);
        ControllerRegistrationRequestData registration = new ControllerRegistrationRequestData()
            .setControllerId(id)
            .setIncarnationId(Uuid.randomUuid());
        registration.listeners().add(new Listener().setName(at.listener()).setHost(at.host()).setPort(at.port()));
        registration.features().add(
            new Feature().setName("kraft.version").setMinSupportedVersion((short) 0).setMaxSupportedVersion((short) 1));
        Node leader = admin.describeCluster().controller().get();
        RequestHeader header = new RequestHeader(ApiKeys.CONTROLLER_REGISTRATION, (short) 0, "driver", 0);
        try (Socket socket = new Socket(leader.host(), leader.port())) {
            ByteBuffer request = new ControllerRegistrationRequest(registration, (short) 0).serializeWithHeader(header);
            DataOutputStream out = new DataOutputStream(socket.getOutputStream());
            out.writeInt(request.remaining());
            out.write(Utils.toArray(request));
            out.flush();
            DataInputStream in = new DataInputStream(socket.getInputStream());
            ByteBuffer answer = ByteBuffer.wrap(in.readNBytes(in.readInt()));
            AbstractResponse.parseResponse(answer, header).errorCounts().keySet().forEach(Errors::maybeThrow);
        }
    }

    private static void print(String kind, Collection<QuorumInfo.ReplicaState> replicas) {
        for (QuorumInfo.ReplicaState replica : replicas) {
            System.out.printf("%s %d %s %d %d%n", kind, replica.replicaId(), replica.replicaDirectoryId(),
                replica.logEndOffset(), replica.lastFetchTimestamp().orElse(-1));
        }
    }

    /** What an endpoint of a voter is, or none if that is -. */
    private static Set<RaftVoterEndpoint> endpoints(String word) {
        if (word.equals("-")) {
            return Set.of();
        }
        Endpoint at = Endpoint.of(word);
        return Set.of(new RaftVoterEndpoint(at.listener(), at.host(), at.port()));
    }

    /** LISTENER://HOST:PORT. */
    private record Endpoint(String listener, String host, int port) {
        static Endpoint of(String word) {
            String[] parts = word.split("://|:");
            return new Endpoint(parts[0], parts[1], Integer.parseInt(parts[2]));
        }
    }

    private static Optional<String> cluster(String[] words, int position) {
        return words.length > position ? Optional.of(words[position]) : Optional.empty();
    }

    public static void main(String[] arguments) throws IOException {
        Quorum quorum = new Quorum(arguments[0]);
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        String line;
        while ((line = commands.readLine()) != null && !line.equals("quit")) {
            try {
                quorum.obey(line.split(" "));
                System.out.println("done");
            } catch (ExecutionException error) {
                System.out.println(failed(error.getCause()));
            } catch (Exception error) {
                System.out.println(failed(error));
            }
        }
        quorum.admin.close();
    }

    private static String failed(Throwable error) {
        String message = String.valueOf(error.getMessage()).replace('\n', ' ');
        return "failed " + error.getClass().getSimpleName() + " " + message;
    }
}
