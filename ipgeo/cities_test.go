package ipgeo

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/netip"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/oschwald/maxminddb-golang/v2"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
)

// cityRecord has the fields of the records of city.mmdb, so that decoding costs no more than any
// reader of the file needs.
type cityRecord struct {
	Country struct {
		Code string `maxminddb:"iso_code"`
	} `maxminddb:"country"`
	Subdivisions []struct {
		Names struct {
			En string `maxminddb:"en"`
		} `maxminddb:"names"`
	} `maxminddb:"subdivisions"`
	City struct {
		Names struct {
			En string `maxminddb:"en"`
		} `maxminddb:"names"`
	} `maxminddb:"city"`
	Postal struct {
		Code string `maxminddb:"code"`
	} `maxminddb:"postal"`
	Location struct {
		Latitude  *float64 `maxminddb:"latitude"`
		Longitude *float64 `maxminddb:"longitude"`
		TimeZone  string   `maxminddb:"time_zone"`
	} `maxminddb:"location"`
}

func (c *cityRecord) record() Record {
	r := Record{Country: Country{ISOCode: c.Country.Code}, Postal: Postal{Code: c.Postal.Code},
		Location: Location{Latitude: c.Location.Latitude, Longitude: c.Location.Longitude, TimeZone: c.Location.TimeZone}}
	if n := c.City.Names.En; n != "" {
		r.City.Names = Names{"en": n}
	}
	for _, s := range c.Subdivisions {
		r.Subdivisions = append(r.Subdivisions, Subdivision{Names: Names{"en": s.Names.En}})
	}
	return r
}

// openCities opens the real city database and yields its networks as ranges.
func openCities(t testing.TB) (*maxminddb.Reader, []Range) {
	t.Helper()
	db, err := maxminddb.Open(filepath.FromSlash(realDir + "mmdb/city.mmdb"))
	if err != nil {
		t.Skip("no real data: ", err)
	}
	t.Cleanup(func() { db.Close() })
	var ranges []Range
	for n := range db.Networks() {
		var rec cityRecord
		must.Do(t, n.Decode(&rec))
		first, last := prefixBounds(n.Prefix())
		v4 := n.Prefix().Addr().Is4()
		r := Range{First: addrOf(v4, first), Last: addrOf(v4, last), Record: rec.record()}
		if new(encoder).check(&r.Record) {
			ranges = append(ranges, r)
		}
	}
	return db, ranges
}

func (e *encoder) check(r *Record) bool { _, err := e.encode(r); return err == nil }

// Every network of a MaxMind database of cities has the same answer at both its ends from the
// table, the index and the database's own reader.
func TestRealCities(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine, and much to read")
	_, ranges := openCities(t)
	if len(ranges) < 200_000 {
		t.Fatalf("%d networks", len(ranges))
	}
	s := openStore(t)
	meta, stats, err := Build(t.Context(), s, seqOf(ranges), BuildOptions{})
	must.Do(t, err)
	r, err := Open(t.Context(), s, meta)
	must.Do(t, err)
	ix, _ := indexed(t, r)
	t.Logf("%+v %+v", meta, stats)
	step := 8
	if testing.Short() {
		step = 50
	}
	var x, y Result
	for i := 0; i < len(ranges); i += step {
		for _, a := range []netip.Addr{ranges[i].First, ranges[i].Last} {
			sameAnswer(t, r, ix, a, &x, &y)
			if i%10 != 0 || x.JSON == nil { // decoding takes long
				continue
			}
			got, err := x.Record()
			must.Do(t, err)
			if d := cmp.Diff(ranges[i].Record, got, equal); d != "" {
				t.Fatalf("%s: %s", a, d)
			}
		}
	}
}

// cities is one build of the real city database, with every reader of it.
type cities struct {
	db     *maxminddb.Reader
	reader *Reader
	index  *Index
	table  cellstore.Table
	addrs  []netip.Addr // with a city
}

func openCityBench(b *testing.B) *cities {
	b.Helper()
	c := new(cities)
	var ranges []Range
	c.db, ranges = openCities(b)
	s, meta := builtOnDisk(b, ranges)
	var err error
	if c.reader, err = Open(b.Context(), s, meta); err != nil {
		b.Fatal(err)
	}
	if c.table, err = s.Table(b.Context(), tableName); err != nil {
		b.Fatal(err)
	}
	c.index, _ = indexed(b, c.reader)
	rnd := rand.New(rand.NewPCG(9, 10))
	var res Result
	for len(c.addrs) < 1<<16 {
		r := &ranges[rnd.IntN(len(ranges))]
		if r.Record.City.Names == nil || c.reader.Lookup(b.Context(), r.First, &res) != nil {
			continue
		}
		c.addrs = append(c.addrs, r.First)
	}
	return c
}

// ratio runs two functions for the same task in turns of some hundred calls, so that a busy machine
// slows both, and reports the medians and their quotient. The two never use the same addresses,
// because the second would find them in the processor's caches.
func ratio(b *testing.B, ours, theirs func(i int)) {
	const block = 256
	var took [2][]float64
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		for k, do := range [2]func(int){ours, theirs} {
			start := time.Now()
			for j := range block {
				do(i*block + j + k<<15)
			}
			took[k] = append(took[k], float64(time.Since(start))/block)
		}
	}
	median := func(of []float64) float64 { slices.Sort(of); return of[len(of)/2] }
	x, y := median(took[0]), median(took[1])
	b.ReportMetric(x, "ours-ns")
	b.ReportMetric(y, "theirs-ns")
	b.ReportMetric(x/y, "ours/theirs")
	b.ReportMetric(0, "ns/op") // a mixture of both means nothing
}

// BenchmarkCity looks up the same addresses in every way. All have a full city record.
func BenchmarkCity(b *testing.B) {
	c := openCityBench(b)
	at := func(i int) netip.Addr { return c.addrs[i&(1<<16-1)] }
	lookup := func(l Lookuper) func(int) {
		var res Result
		return func(i int) {
			if err := l.Lookup(b.Context(), at(i), &res); err != nil {
				b.Fatal(err)
			}
		}
	}
	maxmind := func(i int) {
		var rec cityRecord
		if err := c.db.Lookup(at(i)).Decode(&rec); err != nil {
			b.Fatal(err)
		}
	}
	keys := make([][]byte, len(c.addrs))
	for i, a := range c.addrs {
		keys[i] = appendKey(nil, a.Is4(), numberOf(a))
	}
	var row cellstore.Row
	seek := func(i int) {
		k := keys[i&(1<<16-1)]
		end := end6
		if k[0] == prefix4 {
			end = end4
		}
		if found, err := c.table.Next(b.Context(), k, end, nil, &row); err != nil || !found {
			b.Fatal(found, err)
		}
	}
	bounds := func(i int) {
		if _, _, _, ok := c.index.Bounds(at(i)); !ok {
			b.Fatal(at(i))
		}
	}
	b.Run("index-maxminddb", func(b *testing.B) { ratio(b, lookup(c.index), maxmind) })
	b.Run("bounds-maxminddb", func(b *testing.B) { ratio(b, bounds, maxmind) })
	b.Run("store-seek", func(b *testing.B) { ratio(b, lookup(c.reader), seek) })

	fields, err := ParseFields("country.iso_code,city.names.en,location.latitude,location.longitude")
	if err != nil {
		b.Fatal(err)
	}
	var res Result
	if err := c.index.Lookup(b.Context(), at(0), &res); err != nil {
		b.Fatal(err)
	}
	b.Run("fields", func(b *testing.B) {
		b.ReportAllocs()
		var dst []byte
		for b.Loop() {
			dst = res.AppendFields(dst[:0], fields, "")
		}
	})
	b.Run("field", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if res.Field("city.names.en") == nil {
				b.Fatal("no city")
			}
		}
	})
}

// BenchmarkBuildCities builds four million ranges of two sources: a hundred thousand cities with
// names in eight languages, and networks that end elsewhere. As in real data, neighbouring ranges
// have few different cities and networks.
func BenchmarkBuildCities(b *testing.B) {
	const n = 4_000_000
	langs := []string{"de", "en", "es", "fr", "ja", "pt-BR", "ru", "zh-CN"}
	names := func(s string) Names {
		out := Names{}
		for _, l := range langs {
			out[l] = s + " in " + l
		}
		return out
	}
	countries := make([]Record, 240)
	for i := range countries {
		countries[i].Continent = Continent{"EU", uint32(i % 7), names("Continent")}
		countries[i].Country = Country{ISOCode: codes[2*i : 2*i+2], GeoNameID: uint32(i + 1), Names: names("Country")}
		countries[i].RegisteredCountry = countries[i].Country
		countries[i].Subdivisions = []Subdivision{{ISOCode: "AB", GeoNameID: uint32(i + 1000), Names: names("Region")}}
	}
	places := make([]Record, 100_000)
	for i := range places {
		places[i] = countries[i%len(countries)]
		places[i].City = City{GeoNameID: uint32(i + 5000), Names: names(fmt.Sprint("City ", i))}
		places[i].Location = at(float64(i%180)-89.5, float64(i%360)-179.25)
		places[i].Location.AccuracyRadius, places[i].Location.TimeZone = 20, "Europe/Paris"
		places[i].Postal.Code = fmt.Sprint(10000 + i)
	}
	organizations := make([]string, n/4/60*3+3)
	for i := range organizations {
		organizations[i] = fmt.Sprint("Network ", i)
	}
	v4 := func(n uint32) netip.Addr { return addrOf(true, u128{lo: uint64(n)}) }
	seq := func(yield func(Range, error) bool) {
		rnd := rand.New(rand.NewPCG(7, 8))
		known := map[int]*PreparedRecord{}
		prepared := func(key int, r *Record) *PreparedRecord {
			if known[key] == nil {
				p, err := Prepare(r)
				if err != nil {
					b.Fatal(err)
				}
				known[key] = &p
			}
			return known[key]
		}
		for i := range uint32(n * 3 / 4) {
			place := (int(i/240)*8 + rnd.IntN(8)) % len(places)
			r := Range{First: v4(11<<24 + i<<9), Last: v4(11<<24 + i<<9 + 511), Prepared: prepared(place, &places[place])}
			if !yield(r, nil) {
				return
			}
		}
		for i := range uint32(n / 4) {
			r := Range{First: v4(11<<24 + i*1500), Last: v4(11<<24 + i*1500 + 1499), Source: 1}
			as := i/60*3 + rnd.Uint32N(3)
			r.Prepared = prepared(len(places)+int(as), &Record{Traits: Traits{
				AutonomousSystemNumber:       as + 1,
				AutonomousSystemOrganization: organizations[as],
			}})
			if !yield(r, nil) {
				return
			}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		var peak atomic.Uint64
		stop := watchHeap(&peak)
		dir := b.TempDir()
		s, err := pebblestore.Open(dir, nil)
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		meta, stats, err := Build(b.Context(), s, seq, BuildOptions{})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(start).Seconds(), "build-s")
		stop()
		b.ReportMetric(float64(peak.Load())/(1<<20), "MB-heap")
		r, err := Open(b.Context(), s, meta)
		if err != nil {
			b.Fatal(err)
		}
		start = time.Now()
		ix, err := BuildIndex(b.Context(), r, filepath.Join(b.TempDir(), IndexFileName), IndexOptions{})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(start).Seconds(), "index-s")
		b.ReportMetric(float64(ix.Bytes)/(1<<20), "index-MB")
		b.ReportMetric(float64(ix.Records), "records")
		b.ReportMetric(float64(meta.Rows4), "rows")
		b.Log(stats)
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		var size int64
		if err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			in, err := d.Info()
			if err == nil && d.Type().IsRegular() {
				size += in.Size()
			}
			return err
		}); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(size)/(1<<20), "store-MB")
	}
}

// watchHeap records the maximum of the heap in use until stop is called.
func watchHeap(peak *atomic.Uint64) (stop func()) {
	done := make(chan struct{})
	go func() {
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak.Store(max(peak.Load(), m.HeapInuse))
			select {
			case <-done:
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	return func() { close(done) }
}
