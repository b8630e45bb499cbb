import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.NamespaceDescriptor;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.CompactionState;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * Does for tests what a Thrift2 gateway has no call for. It serves lines on a
 * loopback port: words parted by spaces, answered by one line, "ok" and what
 * was asked for, or "error" and why. Package hbasetest describes the words.
 */
public class Control {
  private static final long PATIENCE = 60_000;

  public static void main(String[] args) throws Exception {
    Connection connection = ConnectionFactory.createConnection(HBaseConfiguration.create());
    ServerSocket server =
        new ServerSocket(Integer.parseInt(args[0]), 50, InetAddress.getByName("127.0.0.1"));
    while (true) {
      Socket s = server.accept();
      new Thread(() -> serve(connection, s)).start();
    }
  }

  private static void serve(Connection connection, Socket s) {
    try (s;
        Admin admin = connection.getAdmin()) {
      BufferedReader in =
          new BufferedReader(new InputStreamReader(s.getInputStream(), StandardCharsets.UTF_8));
      PrintWriter out =
          new PrintWriter(new OutputStreamWriter(s.getOutputStream(), StandardCharsets.UTF_8), true);
      for (String line; (line = in.readLine()) != null; ) {
        try {
          out.println("ok " + run(connection, admin, line.split(" ")));
        } catch (Exception e) {
          out.println("error " + e.toString().replace('\n', ' ').replace('\r', ' '));
        }
      }
    } catch (IOException e) {
      // The test has gone.
    }
  }

  private static String run(Connection connection, Admin admin, String[] a) throws Exception {
    switch (a[0]) {
      case "ready":
        return Integer.toString(admin.getRegionServers().size());
      case "flush":
        admin.flush(TableName.valueOf(a[1]));
        return "";
      case "compact":
        return compact(admin, TableName.valueOf(a[1]));
      case "drop":
        drop(admin, TableName.valueOf(a[1]));
        return "";
      case "wipe":
        return wipe(admin, a[1]);
      case "tables":
        return tables(admin, a[1]);
      case "regions":
        return regions(connection, TableName.valueOf(a[1]));
      case "move":
        move(admin, a);
        return "";
      case "observe":
        admin.modifyTable(
            TableDescriptorBuilder.newBuilder(admin.getDescriptor(TableName.valueOf(a[1])))
                .setCoprocessor(a[2])
                .build());
        return "";
      case "disable":
        admin.disableTable(TableName.valueOf(a[1]));
        return "";
      case "split":
        admin.splitRegionAsync(Bytes.toBytes(a[1]), a.length > 2 ? Bytes.fromHex(a[2]) : null)
            .get(PATIENCE, java.util.concurrent.TimeUnit.MILLISECONDS);
        return "";
      case "merge":
        admin.mergeRegionsAsync(new byte[][] {Bytes.toBytes(a[1]), Bytes.toBytes(a[2])}, true)
            .get(PATIENCE, java.util.concurrent.TimeUnit.MILLISECONDS);
        return "";
      case "balancer":
        return Boolean.toString(admin.balancerSwitch(a[1].equals("on"), true));
      case "balance":
        return Boolean.toString(admin.balance());
      default:
        throw new IllegalArgumentException("there is no command " + a[0]);
    }
  }

  // compact flushes a table, compacts all its files into one and waits for it.
  private static String compact(Admin admin, TableName table) throws Exception {
    long start = System.currentTimeMillis();
    admin.flush(table);
    admin.majorCompact(table);
    do {
      Thread.sleep(5);
      if (System.currentTimeMillis() - start > PATIENCE) {
        throw new IOException("the compaction does not end");
      }
    } while (admin.getCompactionState(table) != CompactionState.NONE);
    return Long.toString(System.currentTimeMillis() - start);
  }

  private static void drop(Admin admin, TableName table) throws IOException {
    if (admin.isTableEnabled(table)) {
      admin.disableTable(table);
    }
    admin.deleteTable(table);
  }

  private static String wipe(Admin admin, String namespace) throws IOException {
    boolean exists = false;
    for (NamespaceDescriptor d : admin.listNamespaceDescriptors()) {
      exists |= d.getName().equals(namespace);
    }
    if (!exists) {
      return "0";
    }
    TableName[] all = admin.listTableNamesByNamespace(namespace);
    for (TableName t : all) {
      drop(admin, t);
    }
    admin.deleteNamespace(namespace);
    return Integer.toString(all.length);
  }

  private static String tables(Admin admin, String namespace) throws IOException {
    List<String> names = new ArrayList<>();
    for (TableName t : admin.listTableNamesByNamespace(namespace)) {
      names.add(t.getQualifierAsString());
    }
    return String.join(" ", names);
  }

  // regions lists name,start,end,server of each; keys are in hexadecimal.
  private static String regions(Connection connection, TableName table) throws IOException {
    List<String> list = new ArrayList<>();
    try (org.apache.hadoop.hbase.client.RegionLocator locator = connection.getRegionLocator(table)) {
      locator.clearRegionLocationCache();
      for (HRegionLocation l : locator.getAllRegionLocations()) {
        RegionInfo r = l.getRegion();
        list.add(
            String.join(",", r.getEncodedName(), Bytes.toHex(r.getStartKey()),
                Bytes.toHex(r.getEndKey()), String.valueOf(l.getServerName()).replace(',', '/')));
      }
    }
    return String.join(" ", list);
  }

  private static void move(Admin admin, String[] a) throws IOException {
    byte[] region = Bytes.toBytes(a[1]);
    if (a.length > 2) {
      admin.move(region, ServerName.valueOf(a[2].replace('/', ',')));
    } else {
      admin.move(region);
    }
  }
}
