package stations

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"time"

	"quadrille/feature"
	"quadrille/places/internal/near"
	"quadrille/quadkey"
)

// NearbyQuery asks for the stations nearest to a point.
type NearbyQuery struct {
	Lat, Lon float64   // degrees WGS84
	RadiusM  float64   // metres; 0 means no bound
	Limit    int       // 1 to places.MaxLimit; 0 means places.DefaultLimit
	At       time.Time // only stations whose record has this day; zero: all
	Country  string    // only stations of this ISO 3166-1 alpha-2 code, either case
}

// errFull ends a look at stations where the page is full.
var errFull = errors.New("page is full")

// WithinQuery asks for the stations in a box.
type WithinQuery struct {
	Box     quadkey.Box // may cross ±180°
	Limit   int         // stations per page, as in NearbyQuery
	At      time.Time   // as in NearbyQuery
	Country string
	// Cursor continues after the page that returned it. All other fields but
	// Limit must be unchanged.
	Cursor string
}

// Hit is a station found by Nearby or Within.
type Hit struct {
	ID       ID
	Lat, Lon float64 // degrees
	// DistanceM is in metres from the given point; 0 from Within.
	DistanceM float64
	// JSON is the record of the station, as Finder.Record gives it.
	JSON []byte
}

// filter holds the conditions on a station.
type filter struct {
	day       int32
	anyDay    bool
	countries near.Countries
	// begin and end are those of a layer's query, which no station fulfils whose day is not
	// known.
	begin, end days
}

// days are those from one to another, both included, or all if that is not set.
type days struct {
	set      bool
	from, to int32
}

// hold reports whether a day is among them. The other number stands for a day that is not known.
func (d *days) hold(day, unknown int32) bool {
	return !d.set || day != unknown && d.from <= day && day <= d.to
}

// checkFilter checks the fields that the queries share.
func checkFilter(limit int, at time.Time, country string) (size int, f filter, err error) {
	if size, err = near.CheckLimit(limit); err != nil {
		return 0, f, err
	}
	if !at.IsZero() && (at.Year() < 1 || at.Year() > 9999) {
		return 0, f, feature.BadQuery("date %v; give one of the years 1 to 9999", at)
	}
	f = filter{anyDay: at.IsZero(), day: dayOf(at.UTC(), 0)}
	if country != "" {
		f.countries, err = near.CheckCountries([]string{country})
	}
	return size, f, err
}

func (f *filter) passes(e *entry) bool {
	return (f.anyDay || e.begin <= f.day && f.day <= e.end) && f.countries.Pass(e.country) &&
		f.begin.hold(e.begin, always) && f.end.hold(e.end, forever)
}

func (f *filter) appendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(f.day))
	if f.anyDay {
		b = append(b, 1)
	}
	return f.countries.AppendTo(b)
}

// leafEntries bounds the stations of a tile that is scanned instead of divided.
const leafEntries = 16

// search is the part that Nearby and Within share.
type search struct {
	near.Search
	f      *Finder
	filter filter
	kept   []int32 // entries, by slot

	examined, most int                             // stations looked at, and how many may be; 0 is for any number
	step           func() error                    // of a query; nil for none
	admit          func(entry int32) (bool, error) // what the index does not know of a filter; nil lets all pass
	shown          feature.Feature
	memory         []byte // of its properties
}

func (s *search) begin(f *Finder, flt filter, want int, limit uint64, after near.Cursor) {
	s.f, s.filter, s.examined, s.most = f, flt, 0, 0
	s.Reset(want, limit, after)
}

// stepStations is how many stations are looked at between steps.
const stepStations = 256

// look counts a station that is looked at.
func (s *search) look() error {
	if s.examined++; s.most > 0 && s.examined > s.most {
		return &feature.TooMuchWork{Examined: s.most}
	}
	if s.step != nil && s.examined%stepStations == 0 {
		return s.step()
	}
	return nil
}

func (s *search) take(rank, id uint64, entry int32) {
	slot := s.Keep(rank, id)
	if slot == len(s.kept) {
		s.kept = append(s.kept, 0)
	}
	s.kept[slot] = entry
}

// leaf reports whether a tile is scanned instead of divided.
func leaf(n *near.Node) bool { return n.Hi-n.Lo <= leafEntries || n.Tile.Z == quadkey.CellZoom }

// nearby guides one Nearby search. It ranks stations by distance.
type nearby struct {
	search
	lat, lon float64
}

var nearbys = sync.Pool{New: func() any { return new(nearby) }}

// Nearby returns the stations nearest to a point by great-circle distance,
// nearest first, and by id where distances are equal. Filters apply before the
// limit. It is exact everywhere, like Nearest. It searches the index in memory
// and then reads the records of its results.
//
// The hits overwrite dst and reuse its memory, including the JSON of its
// elements. Errors match places.ErrQuery or are the store's.
func (f *Finder) Nearby(ctx context.Context, q NearbyQuery, dst []Hit) ([]Hit, error) {
	reach, err := near.CheckCircle(q.Lat, q.Lon, q.RadiusM)
	if err != nil {
		return dst[:0], err
	}
	limit, flt, err := checkFilter(q.Limit, q.At, q.Country)
	if err != nil {
		return dst[:0], err
	}
	s := nearbys.Get().(*nearby)
	defer nearbys.Put(s)
	s.lat, s.lon = q.Lat, q.Lon
	s.begin(f, flt, limit, reach, near.Cursor{})
	if err := s.RunFrom(ctx, s, q.Lon, q.Lat, f.cells); err != nil {
		return dst[:0], err
	}
	return s.hits(ctx, s.Sorted(), dst, (*near.Found).Distance)
}

// Bound returns the distance of a tile.
func (s *nearby) Bound(n *near.Node) (uint64, bool) {
	if n.Lo == n.Hi {
		return 0, false
	}
	return s.Reach(n.Tile)
}

// Visit measures the stations of a tile.
func (s *nearby) Visit(_ context.Context, n *near.Node) (near.Step, error) {
	if !leaf(n) {
		return near.Split, nil
	}
	for i := n.Lo; i < n.Hi; i++ {
		e := &s.f.entries[i]
		if !s.filter.passes(e) {
			continue
		}
		if err := s.look(); err != nil {
			return near.Stop, err
		}
		// Ids start at 1 in a ranking.
		rank, id := near.ByDistance(e.at.distance(s.lon, s.lat)), e.id.number()+1
		wanted := s.Wants(rank, id)
		if wanted && s.admit != nil {
			var err error
			if wanted, err = s.admit(i); err != nil {
				return near.Stop, err
			}
		}
		if wanted {
			s.take(rank, id, i)
		}
	}
	return near.Done, nil
}

// number returns the id as a number of base 36, which orders ids like their
// text.
func (id *ID) number() (n uint64) {
	for _, c := range id {
		digit := c - '0'
		if c >= 'A' {
			digit = c - 'A' + 10
		}
		n = 36*n + uint64(digit)
	}
	return n
}

// hits overwrites dst with the stations found and their records.
func (s *search) hits(ctx context.Context, found []near.Found, dst []Hit, metres func(*near.Found) float64) ([]Hit, error) {
	dst = slices.Grow(dst[:0], len(found))[:len(found)]
	for i := range found {
		e, h := &s.f.entries[s.kept[found[i].Slot]], &dst[i]
		h.ID, h.DistanceM = e.id, metres(&found[i])
		h.Lon, h.Lat = e.at.degrees()
		var err error
		if h.JSON, err = s.f.record(ctx, h.ID[:], h.JSON[:0]); err != nil {
			return dst[:0], inside(err, h.ID[:])
		}
	}
	return dst, nil
}

// Within returns a page of the stations in a box, in the order of quadkeys and
// then of ids. It also returns the cursor of the next page, empty if there is
// none. Hits overwrite dst as in Nearby. Errors match places.ErrQuery,
// places.ErrCursor or places.ErrCursorExpired, or are the store's.
func (f *Finder) Within(ctx context.Context, q WithinQuery, dst []Hit) (hits []Hit, next string, err error) {
	if err := near.CheckBox(q.Box); err != nil {
		return dst[:0], "", err
	}
	limit, flt, err := checkFilter(q.Limit, q.At, q.Country)
	if err != nil {
		return dst[:0], "", err
	}
	tag := near.QueryTag('s', flt.appendTo(nil), q.Box.West, q.Box.South, q.Box.East, q.Box.North)
	after, err := near.DecodeCursor(q.Cursor, f.data, tag)
	if err != nil {
		return dst[:0], "", err
	}
	first := 0
	if q.Cursor != "" {
		if after.Rank >= uint64(len(f.entries)) || after.Rank+1 != after.ID {
			return dst[:0], "", near.StrangeCursor()
		}
		first = int(after.ID)
	}
	hits = slices.Grow(dst[:0], limit)
	last := 0
	err = f.each(ctx, feature.Box(q.Box), first, &flt, func(i int, in bool) (err error) {
		if !in {
			return nil
		}
		if len(hits) == limit {
			next = near.Cursor{Rank: uint64(last), ID: uint64(last) + 1}.Encode(f.data, tag)
			return errFull
		}
		last, hits = i, hits[:len(hits)+1]
		e, h := &f.entries[i], &hits[len(hits)-1]
		h.ID, h.DistanceM = e.id, 0
		h.Lon, h.Lat = e.at.degrees()
		h.JSON, err = f.record(ctx, h.ID[:], h.JSON[:0])
		return inside(err, h.ID[:])
	})
	if err != nil && !errors.Is(err, errFull) {
		return dst[:0], "", err
	}
	return hits, next, nil
}
