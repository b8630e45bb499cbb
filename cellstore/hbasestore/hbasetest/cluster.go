package hbasetest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Options describe a cluster to start. The zero value suits most tests.
type Options struct {
	RegionServers int // 2 by default
	Gateways      int // Thrift2 gateways with binary protocol and buffers, 2 by default
	// SessionTimeout is the time that the master waits for a region server that has died; 15 s by default.
	// It must be from 2 to 20 s.
	SessionTimeout time.Duration
	// CallTimeout is the time after which a gateway gives up a call; 20 s by default.
	// Tests of faults need less than the driver's time for one try.
	CallTimeout time.Duration
	// StartTimeout bounds the start; 5 minutes by default.
	StartTimeout time.Duration
	// Dir holds configuration, logs and data. By default Start creates a directory
	// and Close removes it. A given directory is kept.
	Dir string
}

func (o Options) withDefaults() Options {
	if o.RegionServers <= 0 {
		o.RegionServers = 2
	}
	if o.Gateways <= 0 {
		o.Gateways = 2
	}
	if o.SessionTimeout <= 0 {
		o.SessionTimeout = 15 * time.Second
	}
	if o.CallTimeout <= 0 {
		o.CallTimeout = 20 * time.Second
	}
	if o.StartTimeout <= 0 {
		o.StartTimeout = 5 * time.Minute
	}
	return o
}

// Cluster is a running HBase.
type Cluster struct {
	opts      Options
	dir       string
	classPath string
	spawn     *spawner
	base      []property

	zookeeper, master, control *Process
	servers, gateways          []*Process

	mu    sync.Mutex
	all   []*Process
	close sync.Once
}

// Start starts a cluster and waits until it serves. Its error has the last lines of the log of the
// process that is too slow or has ended. It matches ErrMissing if there is no JDK, no Maven or no
// HBase.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	o = o.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, o.StartTimeout)
	defer cancel()
	c := &Cluster{opts: o, dir: o.Dir, spawn: newSpawner()}
	err := c.start(ctx)
	if err != nil {
		// The logs stay, since the error names them.
		return nil, errors.Join(err, c.end())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	var err error
	if c.dir == "" {
		c.dir, err = os.MkdirTemp("", "quadrille-hbase-")
	}
	if err == nil {
		c.dir, err = filepath.Abs(c.dir)
	}
	if err == nil {
		err = os.MkdirAll(filepath.Join(c.dir, "logs"), 0o755)
	}
	if err == nil {
		err = os.MkdirAll(c.classes(), 0o755)
	}
	if err != nil {
		return err
	}
	if c.classPath, err = classPath(ctx, c.dir); err != nil {
		return err
	}
	if err := c.configure(); err != nil {
		return err
	}
	return c.launch(ctx)
}

func (c *Cluster) configure() error {
	zk, err := freePort()
	if err != nil {
		return err
	}
	master, err := freePort()
	if err != nil {
		return err
	}
	c.base = common(c.dir, zk, master, c.opts.SessionTimeout)
	c.base = append(c.base, property{"hbase.master.wait.on.regionservers.maxtostart", strconv.Itoa(c.opts.RegionServers)})
	if err := c.site("conf", nil); err != nil {
		return err
	}
	if err := c.site("conf-gateway", ofGateway(c.opts.CallTimeout)); err != nil {
		return err
	}
	// The gateway's command has no option for this.
	if err := c.site("conf-gateway-http", append(ofGateway(c.opts.CallTimeout),
		property{"hbase.regionserver.thrift.http", "true"})); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(c.dir, "Control.java"), controlSource, 0o644); err != nil {
		return err
	}
	c.zookeeper = c.process("zookeeper", zk, javaOf{
		heap:  "256m",
		class: "org.apache.hadoop.hbase.zookeeper.HQuorumPeer",
		flags: []string{"-Dzookeeper.forceSync=no"},
	})
	c.master = c.process("master", master, javaOf{heap: "768m", class: "org.apache.hadoop.hbase.master.HMaster", args: []string{"start"}})
	for i := range c.opts.RegionServers {
		port, err := freePort()
		if err != nil {
			return err
		}
		c.servers = append(c.servers, c.process(fmt.Sprintf("regionserver%d", i+1), port, javaOf{heap: "1536m",
			class: "org.apache.hadoop.hbase.regionserver.HRegionServer",
			args:  []string{"-D", "hbase.regionserver.port=" + strconv.Itoa(port), "start"}}))
	}
	for range c.opts.Gateways {
		g, err := c.newGateway(Gateway{})
		if err != nil {
			return err
		}
		c.gateways = append(c.gateways, g)
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	c.control = c.process("control", port, javaOf{
		heap:  "256m",
		class: filepath.Join(c.dir, "Control.java"),
		args:  []string{strconv.Itoa(port)},
	})
	return nil
}

// site writes a directory of configuration.
func (c *Cluster) site(name string, more []property) error {
	dir := filepath.Join(c.dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "log4j.properties"), logging, 0o644); err != nil {
		return err
	}
	return writeSite(filepath.Join(dir, "hbase-site.xml"), append(c.base[:len(c.base):len(c.base)], more...))
}

// launch starts everything at once and waits until tables can be created.
func (c *Cluster) launch(ctx context.Context) error {
	if err := c.zookeeper.Start(); err != nil {
		return err
	}
	if err := c.await(ctx, c.zookeeper); err != nil {
		return err
	}
	rest := append([]*Process{c.master, c.control}, c.servers...)
	rest = append(rest, c.gateways...)
	for _, p := range rest {
		if err := p.Start(); err != nil {
			return err
		}
	}
	for _, p := range rest {
		if err := c.await(ctx, p); err != nil {
			return err
		}
	}
	return c.AwaitServers(ctx, c.opts.RegionServers)
}

// await waits until a process listens.
func (c *Cluster) await(ctx context.Context, p *Process) error {
	for {
		conn, err := net.DialTimeout("tcp", p.Addr, time.Second)
		if err == nil {
			return conn.Close()
		}
		if p.ended() {
			return fmt.Errorf("%s has ended; logs are in %s\n%s", p.Name, filepath.Dir(p.LogPath), p.logTail())
		}
		if err := sleep(ctx); err != nil {
			return fmt.Errorf("%s does not listen: %w; logs are in %s\n%s", p.Name, err, filepath.Dir(p.LogPath), p.logTail())
		}
	}
}

// AwaitServers waits until the master knows n region servers and its own
// tables are served.
func (c *Cluster) AwaitServers(ctx context.Context, n int) error {
	var last error
	for {
		if c.master.ended() {
			return fmt.Errorf("the master has ended; logs are in %s\n%s", c.LogDir(), c.master.logTail())
		}
		answer, err := c.Control(ctx, "ready")
		if err == nil && answer == strconv.Itoa(n) {
			if _, err = c.Control(ctx, "tables", "default"); err == nil {
				return nil
			}
		}
		if err == nil {
			err = fmt.Errorf("the master knows %s region servers, not %d", answer, n)
		}
		if ctx.Err() == nil {
			last = err
		}
		if err := sleep(ctx); err != nil {
			return fmt.Errorf("the master is not ready: %w: %w; logs are in %s\n%s", err, last, c.LogDir(), c.master.logTail())
		}
	}
}

func sleep(ctx context.Context) error {
	t := time.NewTimer(poll)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// classes returns a directory on the class path of all processes.
func (c *Cluster) classes() string { return filepath.Join(c.dir, "classes") }

// LogDir returns the directory with the logs of all processes.
func (c *Cluster) LogDir() string { return filepath.Join(c.dir, "logs") }

// GatewayAddrs returns the addresses of the gateways, host:port.
func (c *Cluster) GatewayAddrs() []string {
	var list []string
	for _, g := range c.gateways {
		list = append(list, g.Addr)
	}
	return list
}

// ControlAddr returns the address of the control process, for [Ask].
func (c *Cluster) ControlAddr() string { return c.control.Addr }

// Gateways returns the processes of the gateways that Start made.
func (c *Cluster) Gateways() []*Process { return c.gateways }

// Await waits until a restarted process listens.
func (c *Cluster) Await(ctx context.Context, p *Process) error { return c.await(ctx, p) }

// RestartServers restarts region servers that have ended by themselves, and waits for all servers. On a busy
// machine a server may be cut off from ZooKeeper for longer than SessionTimeout, and end. A test that then
// kills the last server would test a cluster without any server.
func (c *Cluster) RestartServers(ctx context.Context) error {
	for _, p := range c.servers {
		if !p.ended() {
			continue
		}
		if err := errors.Join(p.Kill(), p.Start()); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, c.opts.StartTimeout)
	defer cancel()
	return c.AwaitServers(ctx, len(c.servers))
}

// ServerOf returns the process of a region server named host/port/start.
func (c *Cluster) ServerOf(name string) *Process {
	for _, p := range c.servers {
		f := strings.Split(name, "/")
		if len(f) == 3 && net.JoinHostPort(f[0], f[1]) == p.Addr {
			return p
		}
	}
	return nil
}

// Close kills all processes and removes the directory if Start made it.
func (c *Cluster) Close() (err error) {
	c.close.Do(func() {
		err = c.end()
		if c.opts.Dir == "" {
			err = errors.Join(err, os.RemoveAll(c.dir))
		}
	})
	return err
}

// Kill kills all processes and leaves the directory, for its logs.
func (c *Cluster) Kill() (err error) {
	c.close.Do(func() { err = c.end() })
	return err
}

func (c *Cluster) end() error {
	c.mu.Lock()
	all := c.all
	c.mu.Unlock()
	var errs []error
	for _, p := range all {
		errs = append(errs, p.Kill())
	}
	c.spawn.end()
	return errors.Join(errs...)
}
