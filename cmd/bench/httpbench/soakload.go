package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"quadrille/cmd/internal/toyworld"
	"quadrille/quadkey"
)

// kind is a kind of requests, with their number per thousand requests.
type kind struct {
	name   string
	weight int
	all    []answer
}

// newMix makes the requests of a soak and their expected answers. These are the same for every
// generation.
func newMix(ctx context.Context, url string, swaps *swapper) ([]kind, error) {
	var near []quadkey.Tile
	for z := range uint8(14) {
		for _, at := range [...]struct{ lon, lat float64 }{{toyworld.MiddleLon + 0.1, 48.5}, {5.1, 47.2}, {7.3, 49.1}} {
			t, err := quadkey.TileAt(at.lon, at.lat, z)
			if err != nil {
				return nil, err
			}
			near = append(near, t)
		}
	}
	tiles := func(layers, ext, coding string) (all []answer) {
		for _, t := range near {
			all = append(all, answer{Path: "/tiles/" + layers + "/" + t.String() + "." + ext, Accept: coding})
		}
		return all
	}
	paths := func(list ...string) (all []answer) {
		for _, p := range list {
			all = append(all, answer{Path: p})
		}
		return all
	}
	var asked, own, typed, nearby, regions []answer
	for i := range 3000 {
		asked = append(asked, answer{Path: "/ip/" + toyworld.Address(i*7).String()})
		own = append(own, answer{Path: "/ip/me", Forwarded: toyworld.Address(i * 11).String()})
	}
	for i := range 300 {
		typed = append(typed, answer{Path: "/places/search?q=place+" + strconv.Itoa(i)})
		at := fmt.Sprintf("lat=%.3f&lon=%.3f", toyworld.South+float64(i)*0.013, toyworld.West+float64(i*7%300)*0.013)
		nearby = append(nearby, answer{Path: "/places/nearby?limit=5&" + at})
		regions = append(regions, answer{Path: "/regions/at?" + at})
	}
	kinds := []kind{
		{"tiles MVT", 200, tiles("country,state", "mvt", "")},
		{"tiles GeoJSON", 100, tiles("country", "geojson", "")},
		{"tiles brotli", 80, tiles("all", "mvt", "br")},
		{"tiles gzip", 50, tiles("country", "geojson", "gzip")},
		{"tiles PNG", 10, tiles("country", "png", "")},
		{"addresses", 170, asked},
		{"callers", 130, own},
		{"autocomplete", 100, typed},
		{"nearby", 15, nearby},
		{"regions", 45, regions},
		{
			"not found",
			20,
			paths("/tiles/country/2/9/9.mvt", "/regions/country/none", "/no/such/page", "/ip/203.0.113.9", "/tiles/none/1/0/0.mvt"),
		},
		{"refused", 20, paths("/regions/at?lat=x&lon=1", "/tiles/country/a/0/0.mvt", "/ip/none", "/places/nearby", "/places/search?q=")},
		{"status", 5, paths("/healthz", "/readyz")},
	}
	known := tiles("country", "mvt", "")
	tags, err := swaps.allTags(ctx, known)
	if err != nil {
		return nil, err
	}
	for i := range known {
		known[i].Match = tags[i]
	}
	kinds = append(kinds, kind{"not modified", 55, known})
	for _, k := range kinds {
		for i := range k.all {
			if err := k.all[i].fetch(ctx, url); err != nil {
				return nil, err
			}
		}
		if err := k.check(); err != nil {
			return nil, err
		}
	}
	return kinds, nil
}

// check compares the first answers with the purpose of the kind.
func (k *kind) check() error {
	from, to := 200, 204
	switch k.name {
	case "not modified":
		from, to = 304, 304
	case "not found":
		from, to = 404, 404
	case "refused":
		from, to = 400, 422
	}
	for i := range k.all {
		if got := k.all[i].status(); got < from || got > to {
			return fmt.Errorf("%s: answered %d, which is not what a request of the kind %q is for", k.all[i].Path, got, k.name)
		}
	}
	return nil
}

// soakLoad keeps connections busy with requests of a mix, until enough requests have been sent.
type soakLoad struct {
	addr        string
	connections int
	total       int64
	answers     []answer
	requests    [][]byte
	kindOf      []int // of each answer
	names       []string
	order       []int // answers, by the weights of their kinds

	begun, done, failed, opened atomic.Int64
	perKind                     []atomic.Int64

	mu    sync.Mutex
	first []string // failures, a few
}

// orderLength is the number of requests after which their order repeats.
const orderLength = 1 << 16

func newSoakLoad(url string, mix []kind, connections int, total int64) *soakLoad {
	l := &soakLoad{addr: strings.TrimPrefix(url, "http://"), connections: connections, total: total, perKind: make([]atomic.Int64, len(mix))}
	random := rand.New(rand.NewPCG(5, 6))
	var starts, chances []int
	for i, k := range mix {
		starts = append(starts, len(l.answers))
		l.names = append(l.names, k.name)
		for range k.weight {
			chances = append(chances, i)
		}
		for j := range k.all {
			l.answers = append(l.answers, k.all[j])
			l.requests = append(l.requests, k.all[j].request(l.addr))
			l.kindOf = append(l.kindOf, i)
		}
	}
	for range orderLength {
		k := chances[random.IntN(len(chances))]
		l.order = append(l.order, starts[k]+random.IntN(len(mix[k].all)))
	}
	return l
}

// kinds returns the number of answered requests of each kind.
func (l *soakLoad) kinds() map[string]int64 {
	all := make(map[string]int64, len(l.names))
	for i, name := range l.names {
		all[name] = l.perKind[i].Load()
	}
	return all
}

// run returns when all requests are answered, or ctx ends.
func (l *soakLoad) run(ctx context.Context) {
	var wg sync.WaitGroup
	for i := range l.connections {
		wg.Go(func() { l.drive(ctx, i) })
	}
	wg.Wait()
}

const (
	// reopenAfter is the number of requests for which every other connection is
	// used.
	reopenAfter = 1000
	// batch is the number of requests that a connection reserves at once.
	batch = 100
	// batchTime is the longest time a connection may take for as many answers.
	batchTime = time.Minute
	// maxTold is the greatest number of failures that are printed in full.
	maxTold = 10
)

// drive keeps one connection busy, and opens another when it fails.
func (l *soakLoad) drive(ctx context.Context, i int) {
	var conn net.Conn
	defer func() {
		if conn != nil {
			_ = conn.Close() // nothing is lost with it
		}
	}()
	reader := bufio.NewReaderSize(nil, 64<<10)
	counts := make([]int64, len(l.perKind))
	at, used := i*len(l.order)/l.connections, 0
	for ctx.Err() == nil {
		n := min(l.total-l.begun.Add(batch)+batch, batch)
		if n <= 0 {
			return
		}
		for range n {
			which := l.order[at%len(l.order)]
			at++
			var err error
			if conn == nil {
				used = 0
				if conn, err = net.Dial("tcp", l.addr); err == nil {
					l.opened.Add(1)
					reader.Reset(conn)
				}
			}
			if err == nil && used%batch == 0 {
				// This is often enough to end a connection that hangs, and seldom enough to cost
				// almost nothing.
				err = conn.SetDeadline(time.Now().Add(batchTime))
			}
			if err == nil {
				err = l.one(conn, reader, which)
			}
			used++
			if err != nil {
				l.tell(err)
			}
			if conn != nil && (err != nil || i%2 == 1 && used >= reopenAfter) {
				_ = conn.Close()
				conn = nil
			}
			counts[l.kindOf[which]]++
		}
		for k := range counts {
			l.perKind[k].Add(counts[k])
			counts[k] = 0
		}
		l.done.Add(n)
	}
}

func (l *soakLoad) one(conn net.Conn, r *bufio.Reader, which int) error {
	if r.Buffered() > 0 {
		return errors.New("more came than the last answer")
	}
	if _, err := conn.Write(l.requests[which]); err != nil {
		return err
	}
	return expect(r, &l.answers[which])
}

// tell counts a failure, and keeps the first maxTold messages.
func (l *soakLoad) tell(err error) {
	l.failed.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.first) < maxTold {
		l.first = append(l.first, err.Error())
	}
}
