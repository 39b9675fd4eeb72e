import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/** The HTTP service of the labs on a JVM; its options are those of collector/cmd/jitterscope-service. */
public final class Service {
    private static final int THREADS = 64;

    public static void main(String[] arguments) throws Exception {
        Map<String, String> given = new HashMap<>();
        for (String argument : arguments) {
            String[] parts = argument.split("=", 2);
            given.put(parts[0], parts[1]);
        }
        String[] listen = given.get("--listen").split(":");
        int replaced = number(given, "--replaced"), hashedKib = number(given, "--hashed-kib");
        int slowEvery = number(given, "--slow-every"), slowMs = number(given, "--slow-ms");
        int answerBytes = number(given, "--answer-bytes");
        Object[] table = new Object[number(given, "--objects")];
        for (int i = 0; i < table.length; i++) {
            table[i] = object(i);
        }
        Collections.shuffle(Arrays.asList(table)); // what lives long lies scattered in memory
        AtomicInteger served = new AtomicInteger();
        HttpServer server = HttpServer.create(new InetSocketAddress(listen[0], Integer.parseInt(listen[1])), 4096);
        server.setExecutor(Executors.newFixedThreadPool(THREADS));
        server.createContext("/", exchange -> {
            int number = served.incrementAndGet();
            for (int i = 0; i < replaced; i++) {
                table[(int) (((long) number * replaced + i) % table.length)] = object(number);
            }
            hash(hashedKib);
            if (slowEvery > 0 && number % slowEvery == 0) {
                pause(slowMs);
            }
            byte[] answer = new byte[answerBytes];
            exchange.sendResponseHeaders(200, answer.length);
            exchange.getResponseBody().write(answer);
            exchange.close();
        });
        server.start();
    }

    /** About 128 bytes with what it points to, as a session or a cached row has. */
    private static Object object(int number) {
        return new Object[] {"session-" + (10_000_000 + number), new byte[32]};
    }

    private static int number(Map<String, String> given, String name) {
        return Integer.parseInt(given.getOrDefault(name, "0"));
    }

    private static void pause(int ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private static void hash(int kib) {
        try {
            MessageDigest sha = MessageDigest.getInstance("SHA-256");
            byte[] block = new byte[1024];
            for (int i = 0; i < kib; i++) {
                byte[] sum = sha.digest(block);
                System.arraycopy(sum, 0, block, 0, sum.length);
            }
        } catch (java.security.NoSuchAlgorithmException impossible) {
            throw new IllegalStateException(impossible);
        }
    }
}
