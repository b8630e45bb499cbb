package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"

	"quadrille/cmd/bench/resp"
	"quadrille/internal/manypoints"
)

// peer is a server with which ours is compared.
type peer struct {
	name    string // and how durable its writes are
	address string
	tile38  bool
	near    []target
	cmd     *exec.Cmd
}

type peers []*peer

func (all peers) stop() {
	for _, p := range all {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
}

// startPeers starts the peers that were named, on the core of the servers.
func (b *pointsBench) startPeers() (all peers, err error) {
	defer func() {
		if err != nil {
			all.stop()
		}
	}()
	for _, p := range []struct {
		name, program string
		args          []string
	}{
		{"Tile38, synced each second", b.Tile38, []string{"-q", "-h", "127.0.0.1", "--appendonly", "yes", "-p", "PORT", "-d", "DIR"}},
		{
			"Redis, appendfsync always",
			b.Redis,
			[]string{"--bind", "127.0.0.1", "--save", "", "--appendonly", "yes", "--appendfsync", "always", "--port", "PORT", "--dir", "DIR"},
		},
	} {
		if p.program == "" {
			fmt.Fprintf(os.Stderr, "skipped: no program was named for %s\n", p.name)
			continue
		}
		address, err := freeAddress()
		if err != nil {
			return all, err
		}
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return all, err
		}
		dir, err := os.MkdirTemp(b.tmp, "peer")
		if err != nil {
			return all, err
		}
		n := len(p.args)
		p.args[n-1], p.args[n-3] = dir, port
		cmd := pinned(b.ctx, 0, writerProcessors, p.program, p.args...)
		cmd.Dir = dir
		if err := cmd.Start(); err != nil {
			return all, err
		}
		started := &peer{name: p.name, address: address, tile38: p.program == b.Tile38, cmd: cmd}
		all = append(all, started)
		if err := started.wait(); err != nil {
			return all, err
		}
		if started.tile38 {
			http := b.get("Tile38's HTTP, which closes each connection", address, tile38Path)
			http.fresh = true
			started.near = append(started.near, http)
		}
		started.near = append(started.near, commands(started, "nearest by its own protocol", 1, b.at, started.nearest))
	}
	return all, nil
}

func (p *peer) wait() (err error) {
	for range 200 {
		var conn net.Conn
		if conn, err = net.Dial("tcp", p.address); err == nil {
			return conn.Close()
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("%s does not listen: %w", p.name, err)
}

func tile38Path(p *manypoints.Point) string {
	return "/NEARBY+" + fleet + "+LIMIT+10+POINT+" + decimal(p.Lat) + "+" + decimal(p.Lon)
}

// nearest returns the command for the ten nearest points. Redis answers with ids and distances, and
// Tile38 with whole points.
func (p *peer) nearest(at *manypoints.Point) []string {
	if p.tile38 {
		return []string{"NEARBY", fleet, "LIMIT", "10", "POINT", decimal(at.Lat), decimal(at.Lon)}
	}
	return []string{
		"GEOSEARCH",
		fleet,
		"FROMLONLAT",
		decimal(at.Lon),
		decimal(at.Lat),
		"BYRADIUS",
		"25",
		"km",
		"ASC",
		"COUNT",
		"10",
		"WITHDIST",
	}
}

// put returns the command that writes a point. Redis stores only positions.
func (p *peer) put(at *manypoints.Point) []string {
	if p.tile38 {
		return []string{"SET", fleet, at.ID, "OBJECT", string(manypoints.AppendFeature(nil, *at))}
	}
	return []string{"GEOADD", fleet, decimal(at.Lon), decimal(at.Lat), at.ID}
}

// commands returns a target that sends n commands about points with each request.
func commands(p *peer, what string, n int, list []manypoints.Point, command func(*manypoints.Point) []string) target {
	lines := make([][]byte, len(list))
	for i := range list {
		lines[i] = resp.AppendCommand(nil, command(&list[i])...)
	}
	return target{name: p.name + ", " + what, address: p.address, answer: replies(n), request: func(dst []byte, i int) []byte {
		for j := range n {
			dst = append(dst, lines[(i*n+j)%len(lines)]...)
		}
		return dst
	}}
}

// fillPeers writes the points to the peers, a thousand commands at a time.
func (b *pointsBench) fillPeers(all peers) error {
	const together = 1000
	for _, p := range all {
		conn, err := net.Dial("tcp", p.address)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }() // nothing is lost with it
		r, read := bufio.NewReaderSize(conn, 64<<10), replies(1)
		begin := time.Now()
		var out []byte
		waiting := 0
		flush := func() error {
			_, err := conn.Write(out)
			for ; waiting > 0 && err == nil; waiting-- {
				err = read(r)
			}
			out = out[:0]
			return err
		}
		for point := range manypoints.Each(b.Points) {
			out = resp.AppendCommand(out, p.put(&point)...)
			if waiting++; waiting == together {
				if err := flush(); err != nil {
					return fmt.Errorf("%s: %w", p.name, err)
				}
			}
		}
		if err := flush(); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		b.add(fmt.Sprintf("load of %d points, %d commands at a time", b.Points, together), "", "", p.name, perSecond(b.Points, time.Since(begin)))
	}
	return nil
}
