package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	"quadrille/cellstore/published"
	"quadrille/internal/manypoints"
	"quadrille/quadkey"
	"quadrille/tiles"
)

// large measures the memory with many points, and a query for the points inside France.
func (b *pointsBench) large() error {
	if b.Many == 0 {
		return nil
	}
	s, address, err := b.server()
	if err != nil {
		return err
	}
	err = b.create(address, "many-live", b.Many)
	if err == nil && b.Boundaries != "" {
		err = b.france(address)
	}
	s.stop()
	if err != nil {
		return err
	}
	// Both have the other live collection too, which is smaller.
	if s, address, err = b.server("--cache", leastCache); err != nil {
		return err
	}
	defer s.stop()
	before, _ := memory(s.cmd.Process.Pid)
	for _, name := range []string{manyFleet, "many-live"} {
		callers := b.nearby(address, name).callers(8)
		_, err := drive(callers, b.Duration, 0)
		closeAll(callers)
		if err != nil {
			return err
		}
		rss, anon := memory(s.cmd.Process.Pid)
		b.add(fmt.Sprintf("memory after questions to `%s`, %d points, --cache %s", name, b.Many, leastCache), mebibytes(rss),
			"≤ 200 MiB", "when ready, both collections", mebibytes(before), mebibytes(anon)+" of it anonymous")
	}
	return nil
}

// france requests a stream of the points inside France.
func (b *pointsBench) france(address string) error {
	var firsts, rates []float64
	points := 0
	for round := range b.Rounds + 1 {
		first, n, took, err := stream(address, "/points/"+manyFleet+"/within/country/fr?format=ndjson")
		if err != nil {
			return err
		}
		if points = n; round > 0 {
			firsts, rates = append(firsts, float64(first.Microseconds())/1e3), append(rates, float64(n)/took.Seconds())
		}
	}
	b.add(fmt.Sprintf("inside France, %d of %d points, first line", points, b.Many), fmt.Sprintf("%.1f ms", median(firsts)), "≤ 20 ms")
	b.add("the same, all lines", fmt.Sprintf("%.0f points/s", median(rates)), "≥ 500000 points/s")
	return nil
}

// stream reads an NDJSON response over a connection of its own.
func stream(address, path string) (first time.Duration, lines int, took time.Duration, err error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return 0, 0, 0, err
	}
	defer func() { _ = conn.Close() }() // nothing is lost with it
	begin := time.Now()
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, address); err != nil {
		return 0, 0, 0, err
	}
	res, err := http.ReadResponse(bufio.NewReaderSize(conn, 1<<20), nil)
	if err != nil {
		return 0, 0, 0, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return 0, 0, 0, fmt.Errorf("%s: %s", path, res.Status)
	}
	for buf := make([]byte, 1<<20); ; {
		n, err := res.Body.Read(buf)
		if lines += bytes.Count(buf[:n], []byte{'\n'}); lines > 0 && first == 0 {
			first = time.Since(begin)
		}
		if err == io.EOF {
			return first, lines, time.Since(begin), nil
		}
		if err != nil {
			return 0, 0, 0, err
		}
	}
}

// join finds the regions of all points, in the order of their keys, on one core.
func (b *pointsBench) join() (err error) {
	if b.Regions == "" {
		return nil
	}
	g, err := published.Open(b.ctx, b.Regions, "boundaries")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	r, err := tiles.OpenPublished(b.ctx, g)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(r.Types(), func(t tiles.TypeMeta) bool { return t.Name == b.RegionType }) {
		return fmt.Errorf("--regions has no regions of type %s: name another with --region-type", b.RegionType)
	}
	type keyed struct {
		key      quadkey.PointKey
		lat, lon float64
	}
	all := make([]keyed, 0, b.Points)
	for p := range manypoints.Each(b.Points) {
		key, err := quadkey.PointKeyOf(p.Lon, p.Lat)
		if err != nil {
			return err
		}
		all = append(all, keyed{key, p.Lat, p.Lon})
	}
	slices.SortFunc(all, func(p, q keyed) int { return cmp.Compare(p.key, q.key) })
	inside := 0
	begin := time.Now()
	for i := range all {
		found, err := r.At(b.ctx, all[i].lat, all[i].lon, b.RegionType)
		if err != nil {
			return err
		}
		inside += min(len(found), 1)
	}
	b.add(fmt.Sprintf("join of %d points with the regions of type %s, by key, one core; %d are in one", len(all), b.RegionType,
		inside), perSecond(len(all), time.Since(begin)), "≥ 300000/s")
	return nil
}
