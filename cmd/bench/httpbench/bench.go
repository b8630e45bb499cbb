package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"quadrille/cmd/internal/toyworld"
)

// bench has the tile server, the bare server, and the scenarios in which they are compared.
type bench struct {
	tmp        string // removed in the end
	self       string
	ours, bare *running
	scenarios  []scenario
}

// newBench starts both servers. data is the directory of the published data sets, or "" for an
// invented world. program is the tile server, or "" for one that is built from this module.
func newBench(ctx context.Context, data, program string) (_ *bench, err error) {
	b, err := emptyBench()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	if data, err = worldIn(ctx, data, b.tmp); err != nil {
		return nil, err
	}
	if program, err = serverProgram(ctx, program, b.tmp); err != nil {
		return nil, err
	}
	if b.ours, err = startServer(ctx, nil, program, serverFlags(data)...); err != nil {
		return nil, err
	}
	if b.scenarios, err = scenarios(ctx, b.ours.url); err != nil {
		return nil, err
	}
	var all []answer
	for _, s := range b.scenarios {
		if s.Own == nil {
			all = append(all, s.Answers...)
		}
	}
	answers, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	b.bare, err = startServer(ctx, answers, b.self, "bare")
	return b, err
}

// emptyBench returns a bench without servers.
func emptyBench() (b *bench, err error) {
	b = &bench{}
	if b.self, err = os.Executable(); err != nil {
		return nil, err
	}
	b.tmp, err = os.MkdirTemp("", "httpbench")
	return b, err
}

// serverFlags returns the flags of the measured tile server. The load generator sends the addresses
// of callers in a header, as a proxy does.
func serverFlags(data string, more ...string) []string {
	return append([]string{"--data", data, "--listen", "127.0.0.1:0", "--trusted-proxy", "127.0.0.1"}, more...)
}

// worldIn returns the directory of the data sets. If data is "", it makes data sets in tmp.
func worldIn(ctx context.Context, data, tmp string) (string, error) {
	if data != "" {
		return data, nil
	}
	data = filepath.Join(tmp, "data")
	return data, toyworld.Publish(ctx, data)
}

func (b *bench) close() error {
	for _, s := range []*running{b.bare, b.ours} {
		if s != nil {
			s.stop()
		}
	}
	if b.tmp == "" {
		return nil
	}
	return os.RemoveAll(b.tmp)
}

// against returns the two servers of a scenario with their requests.
func (b *bench) against(s scenario) ([]*running, [][]answer) {
	if s.Own != nil {
		return []*running{b.ours, b.ours}, [][]answer{s.Answers, s.Own}
	}
	return []*running{b.ours, b.bare}, [][]answer{s.Answers, s.Answers}
}

// load runs a load generator, a hidden command of this program, on a core of its own. It alternates
// between the servers, and prints its results as JSON.
func (b *bench) load(ctx context.Context, command string, servers []*running, answers [][]answer, args []string, result any) error {
	requests, err := json.Marshal(answers)
	if err != nil {
		return err
	}
	args = slices.Concat([]string{command}, args)
	for _, server := range servers {
		args = append(args, "--url", server.url, "--pid", fmt.Sprint(server.cmd.Process.Pid))
	}
	cmd := pinned(ctx, 1, 1, b.self, args...)
	cmd.Stdin = bytes.NewReader(requests)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("load generator: %w", err)
	}
	return json.Unmarshal(out, result)
}
