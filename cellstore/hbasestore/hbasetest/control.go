package hbasetest

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Ask sends one command to the control process at addr and returns its answer,
// without the "ok" before it. The commands, with tables as namespace:name,
// keys in hexadecimal, regions by their encoded names and servers as host/port/start:
//
//	ready                 the number of region servers the master knows
//	flush TABLE
//	compact TABLE         flushes, compacts wholly and waits for the end
//	drop TABLE
//	wipe NAMESPACE        drops all its tables and the namespace
//	tables NAMESPACE
//	regions TABLE         name,start,end,server of each
//	servers
//	move REGION [SERVER]
//	observe TABLE CLASS   adds a coprocessor; see [Cluster.FailWrites]
//	disable TABLE
//	split REGION [KEY]
//	merge REGION REGION
//	balancer on|off       returns the former state
//	balance
func Ask(ctx context.Context, addr string, words ...string) (string, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 90*time.Second)
		defer cancel()
	}
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }()
	deadline, _ := ctx.Deadline()
	if err := c.SetDeadline(deadline); err != nil {
		return "", err
	}
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	if _, err := fmt.Fprintln(c, strings.Join(words, " ")); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		return "", errors.Join(err, ctx.Err())
	}
	line = strings.TrimSpace(line)
	if line == "ok" {
		return "", nil
	}
	if answer, ok := strings.CutPrefix(line, "ok "); ok {
		return answer, nil
	}
	return "", fmt.Errorf("%s: %s", strings.Join(words, " "), line)
}

// Control sends a command to the cluster's control process; see [Ask].
func (c *Cluster) Control(ctx context.Context, words ...string) (string, error) {
	return Ask(ctx, c.control.Addr, words...)
}

// FailWrites makes writes to a table, "namespace:name", fail. The beginning of a row's key selects the
// time of the failure. With "never" the write fails before anything is applied, and with "after"
// when all is applied. With "gateway", for increments and appends, it fails in the gateway, also
// when all is applied. With "halt", the first time, the region server dies when all is applied.
func (c *Cluster) FailWrites(ctx context.Context, table string) error {
	source := filepath.Join(c.dir, "Failing.java")
	if err := os.WriteFile(source, failingSource, 0o644); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "javac", "-nowarn", "-cp", c.classPath, "-d", c.classes(), source)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("compile Failing.java: %w\n%s", err, output)
	}
	_, err := c.Control(ctx, "observe", table, "Failing")
	return err
}

// Region is a region of a table and the server that has it.
type Region struct {
	Name       string // encoded
	Start, End []byte
	Server     string // host/port/start
}

// Regions returns the regions of a table, "namespace:name", in their order.
func (c *Cluster) Regions(ctx context.Context, table string) ([]Region, error) {
	list, err := c.Control(ctx, "regions", table)
	if err != nil {
		return nil, err
	}
	var regions []Region
	for item := range strings.FieldsSeq(list) {
		f := strings.Split(item, ",")
		if len(f) != 4 {
			return nil, fmt.Errorf("regions of %s: %q has not 4 parts", table, item)
		}
		start, err := hex.DecodeString(f[1])
		if err != nil {
			return nil, err
		}
		end, err := hex.DecodeString(f[2])
		if err != nil {
			return nil, err
		}
		regions = append(regions, Region{f[0], start, end, f[3]})
	}
	return regions, nil
}
