package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"quadrille/internal/manypoints"
)

// These are the sizes of the kinds of trouble.
const (
	slowReaders    = 64
	troubleWriters = 4
	troubleBatch   = 500 // lines
	writeEvery     = 500 * time.Millisecond
	replays        = 33
	filterSenders  = 6
	filterBoxes    = 160
)

// troubleCmd makes trouble of some kinds for a server until it is interrupted. It fails if points
// cannot be written during that time.
type troubleCmd struct {
	Kinds  []string `required:""`
	URL    string   `required:""`
	Key    string   `help:"To write points with."`
	After  string   `help:"The event before those that are replayed."`
	Points int
}

func (t *troubleCmd) Run(ctx context.Context) error {
	types, err := regionTypes(ctx, t.URL)
	if err != nil {
		return err
	}
	writes := movedBatches(t.Points, 40, rand.New(rand.NewPCG(uint64(os.Getpid()), 1)))
	fmt.Println("httpbench serves", t.URL) // as servers do, once all is prepared
	makers := map[string]func() error{
		"lists":   func() error { return t.lists(ctx) },
		"writes":  func() error { return t.writes(ctx, writes) },
		"replays": func() error { return t.replays(ctx, strings.Join(types, ",")) },
		"filters": func() error { return t.filters(ctx) },
	}
	var all sync.WaitGroup
	errs := make([]error, len(t.Kinds))
	for i, kind := range t.Kinds {
		all.Go(func() { errs[i] = makers[kind]() })
	}
	all.Wait()
	return errors.Join(errs...)
}

func (t *troubleCmd) address() string { return strings.TrimPrefix(t.URL, "http://") }

// troublemaker is the single address of troublemakers.
const troublemaker = "203.0.113.66"

// lists starts clients that read long lists at a few bytes per second.
func (t *troubleCmd) lists(ctx context.Context) error {
	var all sync.WaitGroup
	for range slowReaders {
		all.Go(func() {
			t.again(ctx, "/points/"+moving+"/within?bbox=-180,-90,180,90&format=ndjson", func(_ *http.Response, conn net.Conn) error {
				for some := make([]byte, 8); ctx.Err() == nil; {
					if _, err := conn.Read(some); err != nil {
						return err
					}
					wait(ctx, time.Second)
				}
				return nil
			})
		})
	}
	all.Wait()
	return nil
}

// writes sends batches of writes at a fixed rate.
func (t *troubleCmd) writes(ctx context.Context, writes [][]byte) error {
	b := &pointsBench{key: t.Key}
	writer := target{name: "POST", address: t.address(), answer: written(troubleBatch), request: func(dst []byte, i int) []byte {
		return b.send(dst, "POST", "/points/"+moving, t.address(), writes[i%len(writes)])
	}}
	callers := writer.callers(troubleWriters)
	defer closeAll(callers)
	var err error
	for err == nil && ctx.Err() == nil {
		_, err = drive(callers, writeEvery, writeEvery)
	}
	return err
}

// movedBatches returns n batches of points of a collection, each moved by up to 20 km.
func movedBatches(points, n int, random *rand.Rand) [][]byte {
	var list []manypoints.Point
	for p := range manypoints.Each(points) {
		p.Properties = []byte("{}")
		list = append(list, p)
	}
	batches := make([][]byte, n)
	for i := range batches {
		for range troubleBatch {
			p := list[random.IntN(len(list))]
			p.Lat += 0.4*random.Float64() - 0.2
			batches[i] = append(manypoints.AppendFeature(batches[i], p), '\n')
		}
	}
	return batches
}

// replays makes clients follow all past events across every border.
func (t *troubleCmd) replays(ctx context.Context, fences string) error {
	var all sync.WaitGroup
	for range replays {
		all.Go(func() {
			t.again(ctx, "/points/"+moving+"/events?last_event_id="+t.After+"&enter="+fences+"&leave="+fences,
				func(res *http.Response, _ net.Conn) error {
					_, err := io.Copy(io.Discard, res.Body)
					return err
				})
		})
	}
	all.Wait()
	return nil
}

// filters makes clients send filters that are all different, and that no point passes.
func (t *troubleCmd) filters(ctx context.Context) error {
	var all sync.WaitGroup
	errs := make([]error, filterSenders)
	for i := range errs {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(i)))
			for ctx.Err() == nil && errs[i] == nil {
				var boxes []string
				for range filterBoxes {
					west, south := 360*random.Float64()-180, 10*random.Float64()-90
					boxes = append(boxes, fmt.Sprintf("S_INTERSECTS(geometry,BBOX(%.2f,%.2f,%.2f,%.2f))", west, south, west, south))
				}
				err := t.once(ctx, "/ogc/collections/places/items?limit=1000&filter="+url.QueryEscape(strings.Join(boxes, " OR ")),
					func(res *http.Response, _ net.Conn) error {
						if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusServiceUnavailable {
							return fmt.Errorf("a filter is answered %s", res.Status)
						}
						_, err := io.Copy(io.Discard, res.Body)
						return err
					})
				if ctx.Err() == nil {
					errs[i] = err
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// again requests a path repeatedly, each time a second after the end of the previous answer.
func (t *troubleCmd) again(ctx context.Context, path string, read func(*http.Response, net.Conn) error) {
	for ctx.Err() == nil {
		_ = t.once(ctx, path, read) // refused, cut off or over: all of these are to be expected
		wait(ctx, time.Second)
	}
}

// once requests a path over a connection of its own.
func (t *troubleCmd) once(ctx context.Context, path string, read func(*http.Response, net.Conn) error) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", t.address())
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })() // nobody needs the bytes read then
	defer func() { _ = conn.Close() }()
	request := answer{Path: path, Forwarded: troublemaker}
	if _, err := conn.Write(request.request(t.address())); err != nil {
		return err
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return read(res, conn)
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
