package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"
)

// besideCmd sends mixed requests to the tile server at fixed times. It alternates between a server
// alone, and a server with troublesome clients or readers of its log, which could block others. The
// latency of a request counts from the time at which it had to be sent, which is fixed in advance.
type besideCmd struct {
	Data        string        `type:"path" placeholder:"DIR" help:"Published data sets to serve; a small made-up world if not given."`
	Bin         string        `type:"path" placeholder:"DIR" help:"Where the program tileserver is; built from this module if not given."`
	Rate        float64       `default:"2000" help:"Requests per second."`
	Points      int           `default:"100000" help:"Points of the live collection that lists, writes and replays are of."`
	Rounds      int           `default:"11" help:"Rounds, each of a run alone and one beside each trouble; at least 7."`
	Duration    time.Duration `default:"2s" help:"Length of a run."`
	Connections int           `default:"64" help:"Connections that requests find one free of, or wait."`
	Only        string        `placeholder:"TEXT" help:"Only the troubles whose name contains this."`
	JSON        bool          `help:"Print JSON instead of a table."`
}

// besideBudget is the factor by which the 99th percentile may rise during a trouble.
const besideBudget = 2

// condition is a server and the kinds of its trouble, in the form for troubleCmd. "" means no
// trouble beyond the way in which the server was started.
type condition struct {
	on    *running
	kinds string
}

// trouble is a load during which requests are measured, and the load with which it is compared.
type trouble struct {
	name         string
	beside, than condition
}

// besideResult is one comparison; times are in microseconds.
type besideResult struct {
	Name     string  `json:"name"`
	P50      float64 `json:"p50_us"`
	AloneP50 float64 `json:"alone_p50_us"`
	P99      float64 `json:"p99_us"`
	AloneP99 float64 `json:"alone_p99_us"`
	Ratio    float64 `json:"p99_ratio"`
	Budget   float64 `json:"budget"`
	// CPUShare is the share of a core that the server took. It is 0 if the system does not report it.
	CPUShare      float64 `json:"cpu_share,omitempty"`
	AloneCPUShare float64 `json:"alone_cpu_share,omitempty"`
}

// besideRuns are the results of the runs of one kind, run by run.
type besideRuns struct{ p50, p99, cpu []float64 }

func (r *besideRuns) add(sum latencies, cpu float64) {
	r.p50, r.p99, r.cpu = append(r.p50, sum.P50), append(r.p99, sum.P99), append(r.cpu, cpu)
}

// besideBench is a running measurement.
type besideBench struct {
	*besideCmd
	points  *pointsBench // starts servers, and fills the collection
	self    string
	readers []answer // of one run, in their order
	before  string   // the id of the event before the replayed ones
	servers []*running
	files   []*os.File
}

// warmUp is the time for which requests are sent before the measured ones, because new connections
// are slow.
const warmUp = 300 * time.Millisecond

// moving is the name of the live collection.
const moving = "moving"

func (c *besideCmd) Run(ctx context.Context) (err error) {
	if c.Rounds < 7 || c.Duration <= 0 || c.Connections < 1 || !(c.Rate > 0) || c.Points < troubleBatch {
		return fmt.Errorf("--rounds must be at least 7, --points %d, --rate, --duration and --connections positive", troubleBatch)
	}
	b := &besideBench{besideCmd: c, points: &pointsBench{pointsCmd: &pointsCmd{Bin: c.Bin}, ctx: ctx}}
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "httpbench")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	b.points.tmp = tmp
	if b.points.data, err = worldIn(ctx, c.Data, tmp); err != nil {
		return err
	}
	if c.Bin == "" {
		b.points.Bin = tmp
		if _, err := serverProgram(ctx, "", tmp); err != nil {
			return err
		}
	}
	pinSelf(ctx, 1)
	defer b.stop()
	troubles, err := b.start()
	if err != nil {
		return err
	}
	results, err := b.measure(troubles)
	switch {
	case err != nil:
		return err
	case len(results) == 0:
		return errNone(c.Only)
	case c.JSON:
		return printJSON(results)
	}
	fmt.Printf("| %.0f requests/s of mixed readers beside | p50 | alone | p99 | alone | ratio of p99 | budget | of a "+
		"core | alone |\n|---|---|---|---|---|---|---|---|---|\n", c.Rate)
	for _, res := range results {
		fmt.Printf("| %s | %.0f µs | %.0f µs | %.0f µs | %.0f µs | %.2f | ≤ %.0f | %.0f %% | %.0f %% |\n", res.Name, res.P50,
			res.AloneP50, res.P99, res.AloneP99, res.Ratio, res.Budget, 100*res.CPUShare, 100*res.AloneCPUShare)
	}
	fmt.Printf("\nMedians of the percentiles of %d runs of %v of each by turns, at fixed times and counted from those, "+
		"over %d connections. Requests are those of `httpbench run` but for pages of features, in equal shares, from many addresses. "+
		"The collection has %d points. Servers are on one core, with two processors of Go's, and the load generator and the "+
		"troublemakers on another. By `bin/bench/httpbench beside`.\n",
		c.Rounds, c.Duration, c.Connections, c.Points)
	return nil
}

// start starts the servers, and returns the troubles during which requests are measured.
func (b *besideBench) start() ([]trouble, error) {
	plain, address, err := b.points.server()
	if err != nil {
		return nil, err
	}
	b.servers = append(b.servers, plain)
	if err := b.points.create(address, moving, b.Points); err != nil {
		return nil, err
	}
	if err := b.move(address); err != nil {
		return nil, err
	}
	if err := b.mix(plain.url); err != nil {
		return nil, err
	}
	nobody, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	stuck, toStuck, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	gone, toGone, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	b.files = append(b.files, nobody, stuck, toStuck, toGone)
	var logging [3]*running
	for i, log := range []*os.File{nobody, toStuck, toGone} {
		cmd := pinned(b.points.ctx, 0, writerProcessors, b.points.program("tileserver"), serverFlags(b.points.data, "--access-log")...)
		cmd.Stderr = log
		if logging[i], err = startCommand(cmd); err != nil {
			return nil, err
		}
		b.servers = append(b.servers, logging[i])
	}
	if err := gone.Close(); err != nil {
		return nil, err
	}
	alone, read := condition{plain, ""}, condition{logging[0], ""}
	return []trouble{
		{fmt.Sprintf("%d slow readers of streamed lists of one address", slowReaders), condition{plain, "lists"}, alone},
		{
			fmt.Sprintf("the same while %d points/s are written in batches; alone: these writes",
				troubleWriters*troubleBatch*int(time.Second/writeEvery)),
			condition{plain, "lists,writes"},
			condition{plain, "writes"},
		},
		{fmt.Sprintf("%d replays of fenced events of one address", replays), condition{plain, "replays"}, alone},
		{
			fmt.Sprintf("%d connections of one address that send filters of %d boxes", filterSenders, filterBoxes),
			condition{plain, "filters"},
			alone,
		},
		{"`--access-log` whose reader is stuck; alone: it is read", condition{logging[1], ""}, read},
		{"`--access-log` whose reader has ended; alone: it is read", condition{logging[2], ""}, read},
	}, nil
}

// move stores the id of the last event in b.before, and then moves every point across the borders
// within some 20 km.
func (b *besideBench) move(address string) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // nothing is lost with it
	follow := answer{Path: "/points/" + moving + "/events"}
	if _, err := conn.Write(follow.request(address)); err != nil {
		return err
	}
	for lines := bufio.NewScanner(conn); b.before == ""; {
		if !lines.Scan() {
			return errors.Join(errors.New("a stream of events does not say where it begins"), lines.Err())
		}
		b.before, _ = strings.CutPrefix(lines.Text(), "id: ")
		if b.before == lines.Text() {
			b.before = ""
		}
	}
	writes := movedBatches(b.Points, b.Points/troubleBatch, rand.New(rand.NewPCG(1, 2)))
	w := target{name: "POST", address: address, answer: written(troubleBatch), request: func(dst []byte, i int) []byte {
		return b.points.send(dst, "POST", "/points/"+moving, address, writes[i])
	}}.callers(1)[0]
	defer w.close()
	for range writes {
		if err := w.call(); err != nil {
			return err
		}
	}
	return nil
}

func (b *besideBench) stop() {
	for _, s := range b.servers {
		s.stop()
	}
	for _, f := range b.files {
		_ = f.Close() // nothing is lost with it
	}
}

// mix selects the requests of a run.
func (b *besideBench) mix(url string) error {
	list, err := scenarios(b.points.ctx, url)
	if err != nil {
		return err
	}
	var kinds [][]answer
	for _, s := range list {
		if !strings.HasPrefix(s.Name, featurePages) {
			kinds = append(kinds, s.Answers)
		}
	}
	random := rand.New(rand.NewPCG(7, 8))
	for i := range int(b.Rate * b.Duration.Seconds()) {
		kind := kinds[random.IntN(len(kinds))]
		a := kind[random.IntN(len(kind))]
		if a.Forwarded == "" {
			a.Forwarded = netip.AddrFrom4([4]byte{100, 64, byte(i >> 8), byte(i)}).String()
		}
		b.readers = append(b.readers, a)
	}
	return nil
}

// measure makes the rounds, after one that does not count. Each round has every condition once.
func (b *besideBench) measure(troubles []trouble) (results []besideResult, err error) {
	troubles = slices.DeleteFunc(troubles, func(t trouble) bool { return !strings.Contains(t.name, b.Only) })
	runs := map[condition]*besideRuns{}
	for round := range b.Rounds + 1 {
		met := map[condition]bool{}
		for _, t := range troubles {
			for _, at := range []condition{t.than, t.beside} {
				if met[at] {
					continue
				}
				met[at] = true
				sum, cpu, err := b.run(at)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", t.name, err)
				}
				if round == 0 {
					runs[at] = &besideRuns{}
					continue
				}
				runs[at].add(sum, cpu)
			}
		}
	}
	for _, t := range troubles {
		beside, alone := runs[t.beside], runs[t.than]
		res := besideResult{
			Name: t.name, P50: median(beside.p50), AloneP50: median(alone.p50), P99: median(beside.p99), AloneP99: median(alone.p99),
			Budget: besideBudget, CPUShare: median(beside.cpu), AloneCPUShare: median(alone.cpu),
		}
		if res.AloneP99 > 0 {
			res.Ratio = res.P99 / res.AloneP99
		}
		results = append(results, res)
	}
	return results, nil
}

// run sends the requests to a server in a condition.
func (b *besideBench) run(at condition) (sum latencies, cpu float64, err error) {
	ctx, pid := b.points.ctx, at.on.cmd.Process.Pid
	if err := settled(ctx, pid); err != nil {
		return sum, 0, err
	}
	p, err := newPacer(at.on.url, b.readers, b.Connections)
	if err != nil {
		return sum, 0, err
	}
	defer p.close()
	if at.kinds != "" {
		cmd := pinned(ctx, 1, 1, b.self, "trouble", "--kinds", at.kinds, "--url", at.on.url, "--key", b.points.key, "--after",
			b.before, "--points", fmt.Sprint(b.Points))
		cmd.Stderr = os.Stderr
		maker, err := startCommand(cmd)
		if err != nil {
			return sum, 0, err
		}
		defer func() {
			_ = maker.cmd.Process.Signal(os.Interrupt) // a maker that has ended before reports why
			err = errors.Join(err, maker.cmd.Wait())
		}()
	}
	if _, err := p.run(b.Rate, warmUp); err != nil {
		return sum, 0, err
	}
	before, began := cpuTime(pid), time.Now()
	took, err := p.run(b.Rate, b.Duration)
	return summarize(took, 0), float64(cpuTime(pid)-before) / float64(time.Since(began)), err
}

// settled waits until a server has hardly any work left from earlier requests.
func settled(ctx context.Context, pid int) error {
	const look = 100 * time.Millisecond
	for range 300 {
		before := cpuTime(pid)
		time.Sleep(look)
		if cpuTime(pid)-before < look/20 {
			return ctx.Err()
		}
	}
	return errors.New("the server goes on working for what has ended half a minute ago: look at its profile")
}
