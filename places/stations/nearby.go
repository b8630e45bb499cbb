package stations

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"quadrille/cellstore"
	"quadrille/quadkey"
)

// Bounds of queries.
const (
	DefaultLimit = 10
	MaxLimit     = 1000
)

// NearbyQuery asks for the stations nearest to a point.
type NearbyQuery struct {
	Lat, Lon float64   // degrees WGS84
	RadiusM  float64   // metres; 0 means no bound
	Limit    int       // 1 to MaxLimit; 0 means DefaultLimit
	At       time.Time // only stations whose record has this day; zero: all
	Country  string    // only those of an ISO 3166-1 alpha-2 code, either case
}

// WithinQuery asks for the stations in a box.
type WithinQuery struct {
	Box     quadkey.Box // may cross ±180°
	Limit   int         // stations per page, 1 to MaxLimit; 0 means DefaultLimit
	At      time.Time   // as in NearbyQuery
	Country string
	// Cursor continues where the page that returned it ended. All the other
	// fields but Limit must be as they were.
	Cursor string
}

// Hit is a station found by Nearby or Within.
type Hit struct {
	ID       ID
	Lat, Lon float64 // degrees
	// DistanceM is in metres from the point asked about; 0 from Within.
	DistanceM float64
	// JSON is the record of the station, as Finder.Record gives it.
	JSON []byte
}

// filter is what a station must have.
type filter struct {
	day     int32
	anyDay  bool
	country [2]byte
}

func filterOf(at time.Time, country string) (filter, error) {
	c := strings.ToUpper(country)
	if !validCountry(c) {
		return filter{}, fmt.Errorf("%w: country %.20q; give a two-letter ISO 3166-1 code such as CH", ErrQuery, country)
	}
	if !at.IsZero() && (at.Year() < 1 || at.Year() > 9999) {
		return filter{}, fmt.Errorf("%w: date %v; give one of the years 1 to 9999", ErrQuery, at)
	}
	f := filter{anyDay: at.IsZero(), day: dayOf(at.UTC(), 0)}
	copy(f.country[:], c)
	return f, nil
}

func (f *filter) passes(e *entry) bool {
	return (f.anyDay || e.begin <= f.day && f.day <= e.end) && (f.country == [2]byte{} || f.country == e.country)
}

func (f *filter) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(f.day))
	if f.anyDay {
		b = append(b, 1)
	}
	return append(append(b, '|'), f.country[:]...)
}

func limitOf(limit int) (int, error) {
	if limit < 0 || limit > MaxLimit {
		return 0, fmt.Errorf("%w: limit %d; give 1 to %d", ErrQuery, limit, MaxLimit)
	}
	if limit == 0 {
		limit = DefaultLimit
	}
	return limit, nil
}

// block is a run of stations that are near each other, with a ball and a box
// around them.
type block struct {
	centre vec
	radius float64
	box    quadkey.Box // never across ±180°
}

const blockSize = 64

// rounding is more than what the length of a chord of the unit sphere may be
// off by.
const rounding = 1e-12

func (f *Finder) makeBlocks() {
	for from := 0; from < len(f.entries); from += blockSize {
		to := min(from+blockSize, len(f.entries))
		b := block{box: quadkey.Box{West: 180, South: 90, East: -180, North: -90}}
		for i := from; i < to; i++ {
			b.centre = b.centre.plus(f.vecs[i])
			lon, lat := f.entries[i].at.degrees()
			b.box.West, b.box.East = min(b.box.West, lon), max(b.box.East, lon)
			b.box.South, b.box.North = min(b.box.South, lat), max(b.box.North, lat)
		}
		b.centre = b.centre.by(1 / float64(to-from))
		for i := from; i < to; i++ {
			b.radius = max(b.radius, f.vecs[i].minus(b.centre).norm())
		}
		b.radius += rounding
		f.blocks = append(f.blocks, b)
	}
}

// search is the memory of one Nearby.
type search struct {
	queue []queued
	found []Hit
}

// queued is a block to look at; no station of it is nearer than bound, a chord.
type queued struct {
	bound float64
	block int32
}

// Nearby returns the stations nearest to a point by great-circle distance,
// nearest first and by id where distances are equal. Filters apply before the
// limit. It is exact everywhere, as Nearest is; it searches the index in memory,
// nearest blocks of 64 stations first, and then reads the records of what it
// found.
//
// The hits are written over dst, whose memory is used again, that of its
// elements' JSON included. Errors match ErrQuery or are the store's.
func (f *Finder) Nearby(ctx context.Context, q NearbyQuery, dst []Hit) ([]Hit, error) {
	if err := quadkey.CheckCoordinate(q.Lon, q.Lat); err != nil {
		return dst[:0], fmt.Errorf("%w: %w", ErrQuery, err)
	}
	if !(q.RadiusM >= 0) || math.IsInf(q.RadiusM, 0) {
		return dst[:0], fmt.Errorf("%w: radius %v; give metres, or 0 for no bound", ErrQuery, q.RadiusM)
	}
	limit, err := limitOf(q.Limit)
	if err != nil {
		return dst[:0], err
	}
	flt, err := filterOf(q.At, q.Country)
	if err != nil {
		return dst[:0], err
	}
	s := f.searches.Get().(*search)
	defer f.searches.Put(s)
	reach := q.RadiusM
	if reach == 0 {
		reach = math.Inf(1)
	}
	f.search(s, q.Lon, q.Lat, reach, limit, &flt)
	return f.fill(ctx, s.found, dst)
}

// search leaves the nearest stations in s.found, in order.
func (f *Finder) search(s *search, lon, lat, reach float64, limit int, flt *filter) {
	p := vecOf(lon, lat)
	s.queue, s.found = s.queue[:0], s.found[:0]
	for i := range f.blocks {
		b := &f.blocks[i]
		s.queue = append(s.queue, queued{p.minus(b.centre).norm() - b.radius, int32(i)})
	}
	heapify(s.queue)
	chord := chordOf(reach/quadkey.EarthRadius) + rounding
	for len(s.queue) > 0 && s.queue[0].bound <= chord {
		from := int(s.queue[0].block) * blockSize
		s.queue = pop(s.queue)
		for i := from; i < min(from+blockSize, len(f.entries)); i++ {
			e := &f.entries[i]
			if p.minus(f.vecs[i]).norm() > chord || !flt.passes(e) {
				continue
			}
			h := Hit{ID: e.id, DistanceM: e.at.distance(lon, lat)}
			if h.DistanceM > reach {
				continue
			}
			h.Lon, h.Lat = e.at.degrees()
			s.found = append(s.found, h)
		}
		// Cutting the list back now and then keeps it short and the reach small.
		if len(s.found) > limit+limit/2 {
			slices.SortFunc(s.found, Hit.compare)
			s.found = s.found[:limit]
			reach = s.found[limit-1].DistanceM
			chord = chordOf(reach/quadkey.EarthRadius) + rounding
		}
	}
	slices.SortFunc(s.found, Hit.compare)
	s.found = s.found[:min(len(s.found), limit)]
}

func (h Hit) compare(o Hit) int {
	if h.DistanceM != o.DistanceM {
		return cmp.Compare(h.DistanceM, o.DistanceM)
	}
	return bytes.Compare(h.ID[:], o.ID[:])
}

func heapify(h []queued) {
	for i := len(h)/2 - 1; i >= 0; i-- {
		sink(h, i)
	}
}

// pop takes the block with the least bound off.
func pop(h []queued) []queued {
	last := len(h) - 1
	h[0] = h[last]
	h = h[:last]
	sink(h, 0)
	return h
}

func sink(h []queued, i int) {
	for {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(h); c++ {
			if h[c].bound < h[least].bound {
				least = c
			}
		}
		if least == i {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}

// fill copies hits over dst and adds their records.
func (f *Finder) fill(ctx context.Context, found, dst []Hit) ([]Hit, error) {
	row := f.rows.Get().(*cellstore.Row)
	defer f.rows.Put(row)
	dst = slices.Grow(dst[:0], len(found))[:len(found)]
	for i := range found {
		json := dst[i].JSON[:0]
		dst[i] = found[i]
		ok, err := f.info.Get(ctx, dst[i].ID[:], selectJSON, row)
		if err != nil {
			return dst[:0], fmt.Errorf("stations: %w", err)
		}
		if !ok {
			return dst[:0], corrupt(tableInfo, dst[i].ID[:], "is missing")
		}
		dst[i].JSON = append(json, row.Cells[0].Value...)
	}
	return dst, nil
}

// Within returns a page of the stations in a box, in the order of quadkeys and
// then of ids, and the cursor of the next page, empty when there is none. Hits
// are written over dst as in Nearby. Errors match ErrQuery, ErrCursor,
// ErrCursorExpired or are the store's.
func (f *Finder) Within(ctx context.Context, q WithinQuery, dst []Hit) (hits []Hit, next string, err error) {
	if err := q.Box.Check(); err != nil {
		return dst[:0], "", fmt.Errorf("%w: %w", ErrQuery, err)
	}
	limit, err := limitOf(q.Limit)
	if err != nil {
		return dst[:0], "", err
	}
	flt, err := filterOf(q.At, q.Country)
	if err != nil {
		return dst[:0], "", err
	}
	query := tagOf(flt.append([]byte("within " + q.Box.String() + " ")))
	at := uint64(0)
	if q.Cursor != "" {
		if at, err = decodeCursor(q.Cursor, f.data, query); err != nil {
			return dst[:0], "", err
		}
		if at >= uint64(len(f.entries)) {
			return dst[:0], "", fmt.Errorf("%w: it is not one that was handed out; ask for the first page again, without a cursor", ErrCursor)
		}
	}
	s := f.searches.Get().(*search)
	defer f.searches.Put(s)
	s.found = s.found[:0]
	for i := int(at); i < len(f.entries); i++ {
		if i%blockSize == 0 && !overlap(q.Box, f.blocks[i/blockSize].box) {
			i += blockSize - 1
			continue
		}
		e := &f.entries[i]
		lon, lat := e.at.degrees()
		if !q.Box.Contains(lon, lat) || !flt.passes(e) {
			continue
		}
		if len(s.found) == limit {
			next = encodeCursor(uint64(i), f.data, query)
			break
		}
		s.found = append(s.found, Hit{ID: e.id, Lat: lat, Lon: lon})
	}
	hits, err = f.fill(ctx, s.found, dst)
	if err != nil {
		next = ""
	}
	return hits, next, err
}

// overlap reports whether a box may contain points of another, which does not
// cross ±180°.
func overlap(b, o quadkey.Box) bool {
	if o.South > b.North || o.North < b.South {
		return false
	}
	if b.West > b.East {
		return o.East >= b.West || o.West <= b.East
	}
	// Stations at 180° are kept at −180°.
	return o.West <= b.East && o.East >= b.West || o.West == -180 && b.East == 180
}
