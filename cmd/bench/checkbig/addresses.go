package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/oschwald/maxminddb-golang/v2"

	"quadrille/cellstore/dataset"
	"quadrille/cellstore/published"
	"quadrille/ipgeo"
)

// cityRecord is a record of ip-location-db's city databases.
type cityRecord struct {
	City      string  `maxminddb:"city"`
	Country   string  `maxminddb:"country_code"`
	State     string  `maxminddb:"state1"`
	Postcode  string  `maxminddb:"postcode"`
	Zone      string  `maxminddb:"timezone"`
	Latitude  float64 `maxminddb:"latitude"`
	Longitude float64 `maxminddb:"longitude"`
}

// compareAddresses looks up the same addresses in the index and in the database's own reader. They
// are the first, the last and a random address of one network in 40.
func compareAddresses(ctx context.Context, c *cli, data string, files ...string) (_ string, err error) {
	g, table, ix, err := openAddresses(ctx, data)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, ix.Close(), g.Close()) }()
	rnd := rand.New(rand.NewPCG(c.Seed, 2))
	asked := 0
	for _, file := range files {
		db, err := maxminddb.Open(file)
		if err != nil {
			return "", err
		}
		ask := func(a netip.Addr) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			asked++
			return compareAddress(ctx, db, table, ix, a)
		}
		addrs, err := sampleAddrs(db, rnd, c.Points)
		if err != nil {
			return "", errors.Join(err, db.Close())
		}
		for _, a := range addrs {
			if err := ask(a); err != nil {
				return "", errors.Join(err, db.Close())
			}
		}
		if err := db.Close(); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d addresses as maxminddb reads them, by index and by table", asked), nil
}

// openAddresses opens the published addresses and their index.
func openAddresses(ctx context.Context, data string) (*dataset.Generation, *ipgeo.Reader, *ipgeo.Index, error) {
	g, err := published.Open(ctx, data, "ip")
	if err != nil {
		return nil, nil, nil, err
	}
	table, err := ipgeo.OpenPublished(ctx, g)
	if err != nil {
		return nil, nil, nil, errors.Join(err, g.Close())
	}
	ix, err := ipgeo.OpenIndex(filepath.Join(g.Dir, ipgeo.IndexFileName))
	if err != nil {
		return nil, nil, nil, errors.Join(err, g.Close())
	}
	return g, table, ix, nil
}

// listed is a line of a geofeed.
type listed struct {
	addr netip.Addr
	city string
}

// compareList looks up addresses of a geofeed in the index and in the table. In a second round it
// measures the lookups.
func compareList(ctx context.Context, c *cli, data, file string) (_ string, err error) {
	lines, err := sampleList(file, rand.New(rand.NewPCG(c.Seed, 4)), c.Points)
	if err != nil {
		return "", err
	}
	g, table, ix, err := openAddresses(ctx, data)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, ix.Close(), g.Close()) }()
	var slow [2]time.Duration
	for i, l := range []ipgeo.Lookuper{ix, table} {
		var took []time.Duration
		var r ipgeo.Result
		for round := range 2 {
			for _, line := range lines {
				begin := time.Now()
				err := l.Lookup(ctx, line.addr, &r)
				if round > 0 {
					took = append(took, time.Since(begin))
				}
				if err != nil {
					return "", fmt.Errorf("%s: %w", line.addr, err)
				}
				if name := fmt.Sprintf("%q", line.city); !bytes.Contains(r.JSON, []byte(name)) {
					return "", fmt.Errorf("%s: %s is not in {%s}", line.addr, name, r.JSON)
				}
			}
		}
		slices.Sort(took)
		if len(took) > 0 {
			slow[i] = took[len(took)*99/100]
		}
	}
	return fmt.Sprintf("%d addresses as in the list; p99 of a lookup %.1f µs by index, %.1f µs by table",
		len(lines), slow[0].Seconds()*1e6, slow[1].Seconds()*1e6), nil
}

// sampleList returns n lines of a geofeed.
func sampleList(file string, rnd *rand.Rand, n int) (sample []listed, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for i := 0; lines.Scan(); i++ {
		at := len(sample)
		if at == n {
			if at = rnd.IntN(i + 1); at >= n {
				continue
			}
		} else {
			sample = append(sample, listed{})
		}
		fields := strings.Split(lines.Text(), ",")
		if len(fields) < 4 {
			return nil, fmt.Errorf("%s: line %d has %d fields", file, i+1, len(fields))
		}
		if sample[at].addr, err = netip.ParseAddr(fields[0]); err != nil {
			return nil, err
		}
		sample[at].city = fields[3]
	}
	return sample, lines.Err()
}

// sampleAddrs returns addresses of the database: both ends of some networks, and
// a random one within each.
func sampleAddrs(db *maxminddb.Reader, rnd *rand.Rand, n int) ([]netip.Addr, error) {
	const oneIn = 40
	var out []netip.Addr
	for r := range db.Networks() {
		if err := r.Err(); err != nil {
			return nil, err
		}
		if rnd.IntN(oneIn) > 0 {
			continue
		}
		p := r.Prefix()
		out = append(out, p.Addr(), within(p, func() byte { return 0xff }), within(p, func() byte { return byte(rnd.Uint32()) }))
	}
	rnd.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out[:min(n, len(out))], nil
}

// within returns an address of a network. fill supplies the bits behind the prefix.
func within(p netip.Prefix, fill func() byte) netip.Addr {
	b := p.Addr().AsSlice()
	for i := range b {
		fixed := min(max(p.Bits()-8*i, 0), 8)
		mask := byte(0xff) >> fixed
		b[i] = b[i]&^mask | fill()&mask
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

func compareAddress(ctx context.Context, db *maxminddb.Reader, table *ipgeo.Reader, ix *ipgeo.Index, a netip.Addr) error {
	var want cityRecord
	if err := db.Lookup(a).Decode(&want); err != nil {
		return err
	}
	var results [2]ipgeo.Result
	for i, lookup := range []func(*ipgeo.Result) error{
		func(r *ipgeo.Result) error { return table.Lookup(ctx, a, r) },
		func(r *ipgeo.Result) error { return ix.Lookup(ctx, a, r) },
	} {
		r := &results[i]
		err := lookup(r)
		if errors.Is(err, ipgeo.ErrReserved) || errors.Is(err, ipgeo.ErrNotFound) && want == (cityRecord{}) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", a, err)
		}
		rec, err := r.Record()
		if err != nil {
			return fmt.Errorf("%s: %w", a, err)
		}
		got := cityRecord{City: rec.City.Names["en"], Country: rec.Country.ISOCode, Postcode: rec.Postal.Code, Zone: rec.Location.TimeZone}
		if len(rec.Subdivisions) > 0 {
			got.State = rec.Subdivisions[0].Names["en"]
		}
		if rec.Location.Latitude != nil {
			got.Latitude, got.Longitude = *rec.Location.Latitude, *rec.Location.Longitude
		}
		near := math.Abs(got.Latitude-want.Latitude) < 1e-6 && math.Abs(got.Longitude-want.Longitude) < 1e-6
		got.Latitude, got.Longitude = want.Latitude, want.Longitude
		if !near || got != want {
			return fmt.Errorf("%s: maxminddb reads %+v, and we answer {%s}", a, want, r.JSON)
		}
	}
	if string(results[0].JSON) != string(results[1].JSON) {
		return fmt.Errorf("%s: the table answers {%s}, and the index {%s}", a, results[0].JSON, results[1].JSON)
	}
	return nil
}
