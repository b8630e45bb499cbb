package hbasetest

import (
	"fmt"
	"html"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const host = "127.0.0.1"

type property struct{ name, value string }

// writeSite writes settings in Hadoop's format.
func writeSite(file string, ps []property) error {
	var b strings.Builder
	b.WriteString("<?xml version=\"1.0\"?>\n<configuration>\n")
	for _, p := range ps {
		fmt.Fprintf(&b, "<property><name>%s</name><value>%s</value></property>\n", html.EscapeString(p.name), html.EscapeString(p.value))
	}
	b.WriteString("</configuration>\n")
	return os.WriteFile(file, []byte(b.String()), 0o644)
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// common returns the settings of all processes.
func common(dir string, zk, master int, session time.Duration) []property {
	return []property{
		{"hbase.cluster.distributed", "true"},
		{"hbase.rootdir", "file://" + filepath.Join(dir, "data", "hbase")},
		{"hbase.tmp.dir", filepath.Join(dir, "data", "tmp")},
		// This file system writes through to the operating system, so that synced data survives the
		// end of a process. The default, which keeps checksums, does not.
		{"fs.file.impl", "org.apache.hadoop.fs.RawLocalFileSystem"},
		{"hbase.unsafe.stream.capability.enforce", "false"},
		{"hbase.wal.provider", "filesystem"},

		{"hbase.zookeeper.quorum", host},
		{"hbase.zookeeper.property.clientPort", strconv.Itoa(zk)},
		{"hbase.zookeeper.property.clientPortAddress", host},
		{"hbase.zookeeper.property.dataDir", filepath.Join(dir, "data", "zk")},
		{"hbase.zookeeper.property.tickTime", "1000"},
		{"hbase.zookeeper.property.admin.enableServer", "false"},
		{"zookeeper.session.timeout", milliseconds(session)},

		{"hbase.master.hostname", host},
		{"hbase.master.ipc.address", host},
		{"hbase.master.port", strconv.Itoa(master)},
		{"hbase.regionserver.hostname", host},
		{"hbase.regionserver.ipc.address", host},
		{"hbase.master.info.port", "-1"},
		{"hbase.regionserver.info.port", "-1"},
		{"hbase.thrift.info.port", "-1"},

		// The master creates and moves regions without waiting to batch them.
		{"hbase.procedure.remote.dispatcher.delay.msec", "1"},
		{"hbase.assignment.dispatch.wait.msec", "1"},
		{"hbase.master.store.region.wal.hsync", "false"},
		{"hbase.master.wait.on.regionservers.mintostart", "1"},
		{"hbase.master.wait.on.regionservers.interval", "200"},

		// There are hundreds of tables with a few cells each. The allocator of a family would take
		// 2 MiB for the first cell.
		{"hbase.hregion.memstore.mslab.enabled", "false"},
		{"hbase.regionserver.handler.count", "12"},
		{"hbase.regionserver.thread.compaction.small", "2"},
		{"hbase.regionserver.thread.compaction.large", "2"},
		{"hbase.regionserver.executor.openregion.threads", "4"},
		{"hbase.regionserver.executor.closeregion.threads", "4"},
		// No region is moved, split or compacted unless a test does so.
		{"hbase.balancer.period", "86400000"},
		{"hbase.hregion.majorcompaction", "0"},

		{"hbase.io.compress.snappy.codec", "org.apache.hadoop.hbase.io.compress.xerial.SnappyCodec"},
		{"hbase.io.compress.zstd.codec", "org.apache.hadoop.hbase.io.compress.zstd.ZstdCodec"},
	}
}

// ofGateway returns the further settings of gateways: they repeat failed calls soon, and a call
// ends within the given time.
func ofGateway(call time.Duration) []property {
	return []property{
		{"hbase.client.pause", "10"}, // also the interval of the client's checks for a created table
		{"hbase.client.pause.server.overloaded", "50"},
		{"hbase.client.retries.number", "12"},
		{"hbase.client.operation.timeout", milliseconds(call)},
		{"hbase.client.meta.operation.timeout", milliseconds(call)},
		{"hbase.client.scanner.timeout.period", milliseconds(call)},
		{"hbase.rpc.timeout", milliseconds(call * 3 / 4)},
		{"hbase.ipc.client.socket.timeout.connect", "1000"},
		// During this time the client does not retry a missing server.
		{"hbase.ipc.client.failed.servers.expiry", "200"},
		{"hbase.thrift.minWorkerThreads", "8"},
		{"hbase.thrift.maxWorkerThreads", "300"},
	}
}

// freePort returns a port on which no process listens. The port lies below those that the system
// gives to outgoing connections. So it is still free when a killed process is started again and
// listens on it.
func freePort() (int, error) {
	for range 200 {
		port := 15000 + rand.IntN(17000)
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("no free port was found on %s", host)
}

func address(port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }
