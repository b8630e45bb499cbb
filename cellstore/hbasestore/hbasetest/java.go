package hbasetest

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// opened lists the packages of Java whose internals HBase needs.
var opened = []string{
	"java.base/java.io", "java.base/java.lang", "java.base/java.lang.reflect", "java.base/java.net", "java.base/java.nio",
	"java.base/java.text", "java.base/java.time", "java.base/java.util", "java.base/java.util.concurrent",
	"java.base/java.util.concurrent.atomic",
	"java.base/jdk.internal.misc", "java.base/jdk.internal.ref", "java.base/sun.net.dns", "java.base/sun.nio.ch",
	"java.base/sun.security.action",
	"java.base/sun.util.calendar", "java.security.jgss/sun.security.krb5",
}

// javaOf is a Java executable.
type javaOf struct {
	heap  string
	flags []string
	conf  string // directory of its configuration, conf by default
	class string // or a file of source
	args  []string
}

func (c *Cluster) process(name string, port int, j javaOf) *Process {
	if j.conf == "" {
		j.conf = "conf"
	}
	args := []string{
		"-Xmx" + j.heap, "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError", "-Xshare:auto",
		"-Djava.net.preferIPv4Stack=true",
		"-Djava.io.tmpdir=" + c.dir,
		"-Dorg.apache.hbase.thirdparty.io.netty.tryReflectionSetAccessible=true",
		"--add-exports", "java.base/jdk.internal.misc=ALL-UNNAMED",
		"--add-exports", "java.security.jgss/sun.security.krb5=ALL-UNNAMED",
	}
	for _, p := range opened {
		args = append(args, "--add-opens", p+"=ALL-UNNAMED")
	}
	args = append(args, j.flags...)
	classPath := strings.Join([]string{filepath.Join(c.dir, j.conf), c.classes(), c.classPath}, string(filepath.ListSeparator))
	args = append(args, "-cp", classPath, j.class)
	p := &Process{
		Name: name, Addr: address(port), LogPath: filepath.Join(c.LogDir(), name+".log"),
		spawn: c.spawn, path: "java", args: append(args, j.args...), dir: c.dir,
	}
	c.mu.Lock()
	c.all = append(c.all, p)
	c.mu.Unlock()
	return p
}

// Gateway has the transport and protocol of a gateway. The zero value is the Thrift2 service with
// the binary protocol over buffered connections.
type Gateway struct {
	Framed  bool
	Compact bool
	HTTP    bool // on every path
	Older   bool // the older Thrift service, whose calls are different
}

func (c *Cluster) newGateway(g Gateway) (*Process, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	class := "org.apache.hadoop.hbase.thrift2.ThriftServer"
	if g.Older {
		class = "org.apache.hadoop.hbase.thrift.ThriftServer"
	}
	conf := "conf-gateway"
	if g.HTTP {
		conf = "conf-gateway-http"
	}
	args := []string{"-b", host, "-p", strconv.Itoa(port), "--infoport", "-1"}
	if g.Framed {
		args = append(args, "-f")
	}
	if g.Compact {
		args = append(args, "-c")
	}
	// The option for the kind of server is added only if the other options leave the kind open.
	if !g.HTTP && !g.Framed {
		args = append(args, "-threadpool")
	}
	if g.Framed {
		args = append(args, "-hsha")
	}
	c.mu.Lock()
	n := len(c.all)
	c.mu.Unlock()
	return c.process(fmt.Sprintf("gateway%d", n), port, javaOf{heap: "768m", conf: conf, class: class, args: append(args, "start")}), nil
}

// StartGateway starts another gateway and waits until it listens.
func (c *Cluster) StartGateway(ctx context.Context, g Gateway) (*Process, error) {
	p, err := c.newGateway(g)
	if err == nil {
		err = p.Start()
	}
	if err == nil {
		err = c.await(ctx, p)
	}
	return p, err
}
