import java.util.Random;

/** Keeps some live objects, replaces them all the time, and ends when its standard input is closed. */
public class Collecting {
    public static void main(String[] arguments) throws Exception {
        int objects = Integer.parseInt(arguments[0]);
        byte[][] live = new byte[objects][];
        for (int i = 0; i < objects; i++) live[i] = new byte[128];
        Thread work = new Thread(() -> {
            Random random = new Random(1);
            while (true) {
                for (int i = 0; i < 700; i++) live[random.nextInt(objects)] = new byte[100 + random.nextInt(1000)];
                try {
                    Thread.sleep(4);
                } catch (InterruptedException e) {
                    return;
                }
            }
        });
        work.setDaemon(true);
        work.start();
        System.out.println("ready");
        System.in.read();
    }
}
