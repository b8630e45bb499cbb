package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"quadrille/internal/manypoints"
)

// These are the aims for writes to a live collection. They are also the rates of writes while
// readers are measured.
const (
	singleAim  = 8000
	batchAim   = 60_000
	batchLines = 1000
	readerRest = 5 * time.Millisecond // between the questions of a reader
)

// create makes a live collection and writes n points.
func (b *pointsBench) create(address, name string, n int) error {
	body := []byte(`{}`)
	t := target{name: "PUT /points/" + name, address: address, answer: found, request: func(dst []byte, _ int) []byte {
		return b.send(dst, "PUT", "/points/"+name, address, body)
	}}
	c := t.callers(1)[0]
	defer c.close()
	if err := c.call(); err != nil {
		return err
	}
	// While one batch is made the server writes another.
	type batch struct {
		body  []byte
		lines int
	}
	batches := make(chan batch)
	var wg sync.WaitGroup
	errs := make([]error, 2)
	for i := range errs {
		wg.Go(func() {
			var next batch
			t := target{name: "POST /points/" + name, address: address, request: func(dst []byte, _ int) []byte {
				return b.send(dst, "POST", "/points/"+name, address, next.body)
			}}
			for next = range batches {
				t.answer = written(next.lines)
				c := t.callers(1)[0]
				if err := c.call(); errs[i] == nil {
					errs[i] = err
				}
				c.close()
			}
		})
	}
	begin := time.Now()
	var next batch
	for p := range manypoints.Each(n) {
		next.body = append(manypoints.AppendFeature(next.body, p), '\n')
		if next.lines++; next.lines == 10*batchLines {
			batches <- next
			next = batch{}
		}
	}
	if next.lines > 0 {
		batches <- next
	}
	close(batches)
	wg.Wait()
	b.add(fmt.Sprintf("load of %d points, live, over HTTP", n), perSecond(n, time.Since(begin)), "≥ "+strconv.Itoa(batchAim)+"/s")
	return errors.Join(errs...)
}

func (b *pointsBench) send(dst []byte, method, path, address string, body []byte) []byte {
	dst = fmt.Appendf(dst, "%s %s HTTP/1.1\r\nHost: %s\r\nX-API-Key: %s\r\nContent-Length: %d\r\n\r\n", method, path, address,
		b.key, len(body))
	return append(dst, body...)
}

// live measures writes of a live collection, alone and with readers.
func (b *pointsBench) live() error {
	s, address, err := b.server()
	if err != nil {
		return err
	}
	defer s.stop()
	const name = "live"
	if err := b.create(address, name, b.Points); err != nil {
		return err
	}
	peers, err := b.startPeers()
	if err != nil {
		return err
	}
	defer peers.stop()
	if err := b.fillPeers(peers); err != nil {
		return err
	}
	moves := b.moves()
	features, lines := make([][]byte, len(moves)), make([][]byte, len(moves)/batchLines)
	for i := range moves {
		features[i] = manypoints.AppendFeature(nil, moves[i])
		if l := i / batchLines; l < len(lines) {
			lines[l] = append(append(lines[l], features[i]...), '\n')
		}
	}
	single := target{name: "PUT", address: address, answer: found, request: func(dst []byte, i int) []byte {
		i %= len(features)
		return b.send(dst, "PUT", "/points/"+name+"/"+moves[i].ID, address, features[i])
	}}
	batch := target{name: "POST", address: address, answer: written(batchLines), request: func(dst []byte, i int) []byte {
		return b.send(dst, "POST", "/points/"+name, address, lines[i%len(lines)])
	}}
	for _, w := range []struct {
		what                 string
		aim, writes, callers int
		ours                 target
	}{
		{fmt.Sprintf("single writes, synced, %d connections", b.Writers), singleAim, 1, b.Writers, single},
		{fmt.Sprintf("writes, %d a request, synced, %d connections", batchLines, b.Batches), batchAim, batchLines, b.Batches, batch},
	} {
		targets := []target{w.ours}
		for _, p := range peers {
			targets = append(targets, commands(p, "its own protocol", w.writes, moves, p.put))
		}
		rates, err := b.rates(targets, w.callers, w.writes)
		if err != nil {
			return err
		}
		aim := fmt.Sprintf("≥ %d/s", w.aim)
		if len(targets) == 1 {
			b.add(w.what, fmt.Sprintf("%.0f/s", rates[0]), aim)
		}
		for i, t := range targets[1:] {
			b.add(w.what, fmt.Sprintf("%.0f/s", rates[0]), aim, t.name, fmt.Sprintf("%.0f/s", rates[i+1]), fmt.Sprintf("%.2f", rates[0]/rates[i+1]))
		}
		every := time.Duration(float64(w.callers*w.writes) / float64(w.aim) * float64(time.Second))
		if err := b.disturb(fmt.Sprintf("nearest 10 while %d/s are written, %d a request", w.aim, w.writes), b.nearby(address, name),
			w.ours, w.callers, w.writes, every); err != nil {
			return err
		}
		for i, p := range peers {
			if err := b.disturb(fmt.Sprintf("the same of %s", p.name), p.near[len(p.near)-1], targets[i+1], w.callers, w.writes, every); err != nil {
				return err
			}
		}
	}
	return nil
}

// moves returns writes that move points by some hundred metres, in any order. Each point has
// several moves, because a write to the present position may cost nothing.
func (b *pointsBench) moves() (list []manypoints.Point) {
	for i := range 8 {
		for _, p := range b.at {
			p.Lat += 0.002 * float64(i+1)
			list = append(list, p)
		}
	}
	r := rand.New(rand.NewPCG(3, 3))
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// rates returns the writes per second that each target takes.
func (b *pointsBench) rates(targets []target, callers, writes int) ([]float64, error) {
	all, runs := make([][]*caller, len(targets)), make([][]float64, len(targets))
	for i, t := range targets {
		all[i] = t.callers(callers)
		defer closeAll(all[i])
	}
	for round := range b.Rounds + 1 {
		for i := range targets {
			begin := time.Now()
			took, err := drive(all[i], b.Duration, 0)
			if err != nil {
				return nil, err
			}
			if round > 0 {
				runs[i] = append(runs[i], float64(len(took)*writes)/time.Since(begin).Seconds())
			}
		}
	}
	rates := make([]float64, len(targets))
	for i := range rates {
		rates[i] = median(runs[i])
	}
	return rates, nil
}

// disturb compares the latencies of a reader with and without writers at a fixed rate.
func (b *pointsBench) disturb(what string, reader, writer target, callers, writes int, every time.Duration) error {
	readers, writers := reader.callers(1), writer.callers(callers)
	defer closeAll(readers)
	defer closeAll(writers)
	var quiet, busy, rates []float64
	for round := range b.Rounds + 1 {
		alone, err := drive(readers, b.Duration, readerRest)
		if err != nil {
			return err
		}
		var wrote int
		var failed error
		var wg sync.WaitGroup
		begin := time.Now()
		wg.Go(func() {
			took, err := drive(writers, b.Duration, every)
			wrote, failed = len(took)*writes, err
		})
		beside, err := drive(readers, b.Duration, readerRest)
		wg.Wait()
		if err := errors.Join(err, failed); err != nil {
			return err
		}
		if round > 0 {
			quiet, busy = append(quiet, summarize(alone, 0).P99), append(busy, summarize(beside, 0).P99)
			rates = append(rates, float64(wrote)/time.Since(begin).Seconds())
		}
	}
	b.add(what, fmt.Sprintf("p99 %.0f µs, %.0f written/s", median(busy), median(rates)), "≤ 3 × undisturbed", "without writes",
		fmt.Sprintf("p99 %.0f µs", median(quiet)), fmt.Sprintf("%.2f", median(busy)/median(quiet)))
	return nil
}
