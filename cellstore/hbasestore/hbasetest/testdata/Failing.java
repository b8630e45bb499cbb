import java.io.File;
import java.io.IOException;
import java.util.Optional;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.DoNotRetryIOException;
import org.apache.hadoop.hbase.client.Append;
import org.apache.hadoop.hbase.client.CheckAndMutate;
import org.apache.hadoop.hbase.client.CheckAndMutateResult;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Increment;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.coprocessor.ObserverContext;
import org.apache.hadoop.hbase.coprocessor.RegionCoprocessor;
import org.apache.hadoop.hbase.coprocessor.RegionCoprocessorEnvironment;
import org.apache.hadoop.hbase.coprocessor.RegionObserver;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.wal.WALEdit;

/**
 * Makes writes fail by how their rows begin: "never" before anything is done,
 * "after" once all is done, "gateway" then too, but only in the gateway, which
 * cannot make an answer of what it gets, and "halt" by the death of the region
 * server once all is done, the first time.
 */
public class Failing implements RegionCoprocessor, RegionObserver {
  @Override
  public Optional<RegionObserver> getRegionObserver() {
    return Optional.of(this);
  }

  private static boolean is(byte[] row, String kind) {
    return Bytes.startsWith(row, Bytes.toBytes(kind));
  }

  private static void done(byte[] row) throws IOException {
    if (is(row, "after")) {
      throw new DoNotRetryIOException("failed after it was done");
    }
    if (is(row, "halt") && new File(System.getProperty("java.io.tmpdir"), "halted").createNewFile()) {
      Runtime.getRuntime().halt(1);
    }
  }

  // A result that says whether there is one, which nobody has asked.
  private static Result result(byte[] row, Result result) throws IOException {
    done(row);
    return is(row, "gateway") ? Result.create((Cell[]) null, true, false) : result;
  }

  @Override
  public void prePut(ObserverContext<RegionCoprocessorEnvironment> c, Put put, WALEdit edit)
      throws IOException {
    if (is(put.getRow(), "never")) {
      throw new DoNotRetryIOException("refused before it was done");
    }
  }

  @Override
  public void postPut(ObserverContext<RegionCoprocessorEnvironment> c, Put put, WALEdit edit)
      throws IOException {
    done(put.getRow());
  }

  @Override
  public void postDelete(ObserverContext<RegionCoprocessorEnvironment> c, Delete d, WALEdit edit)
      throws IOException {
    done(d.getRow());
  }

  @Override
  public Result postIncrement(
      ObserverContext<RegionCoprocessorEnvironment> c, Increment i, Result result)
      throws IOException {
    return result(i.getRow(), result);
  }

  @Override
  public Result postAppend(ObserverContext<RegionCoprocessorEnvironment> c, Append a, Result result)
      throws IOException {
    return result(a.getRow(), result);
  }

  @Override
  public CheckAndMutateResult postCheckAndMutate(
      ObserverContext<RegionCoprocessorEnvironment> c, CheckAndMutate check, CheckAndMutateResult r)
      throws IOException {
    done(check.getRow());
    return r;
  }
}
