package stations

import (
	"context"
	"sync"

	"quadrille/feature"
	"quadrille/places/internal/near"
	"quadrille/quadkey"
)

// Hit is a station that was found.
type Hit struct {
	ID        ID
	Lat, Lon  float64 // degrees
	DistanceM float64 // metres from the given point
	// JSON is the record of the station, as Finder.Record gives it.
	JSON []byte
}

// filter holds the conditions on a station.
type filter struct {
	day       int32
	anyDay    bool
	countries near.Countries
	// begin and end come from a layer's query. A station with an unknown day fulfils neither.
	begin, end days
}

// days is a range of days, both ends included, or all days if they are not set.
type days struct {
	set      bool
	from, to int32
}

// hold reports whether a day is among the days. unknown is the number that represents an unknown
// day.
func (d *days) hold(day, unknown int32) bool {
	return !d.set || day != unknown && d.from <= day && day <= d.to
}

func (f *filter) passes(e *entry) bool {
	return (f.anyDay || e.begin <= f.day && f.day <= e.end) && f.countries.Has(e.country) &&
		f.begin.hold(e.begin, always) && f.end.hold(e.end, forever)
}

// leafEntries bounds the stations of a tile that is scanned instead of divided.
const leafEntries = 16

// nearby guides a search for the nearest stations.
type nearby struct {
	near.Lists
	lat, lon float64
	f        *Finder
	filter   filter
	kept     []int32 // entries, by slot

	examined, most int                             // stations looked at, and how many may be; 0 is for any number
	step           func() error                    // of a query; nil for none
	admit          func(entry int32) (bool, error) // the part of a filter that the index cannot decide; nil lets all pass
	shown          feature.Feature
	memory         []byte // of its properties
}

var nearbys = sync.Pool{New: func() any { return new(nearby) }}

func (s *nearby) begin(f *Finder, flt filter, want int, limit uint64, after near.Cursor) {
	s.f, s.filter, s.examined, s.most = f, flt, 0, 0
	s.Reset(want, limit, after)
}

// stepStations is the number of examined stations between steps.
const stepStations = 256

// look counts an examined station.
func (s *nearby) look() error {
	if s.examined++; s.most > 0 && s.examined > s.most {
		return &feature.TooMuchWork{Examined: s.most}
	}
	if s.step != nil && s.examined%stepStations == 0 {
		return s.step()
	}
	return nil
}

func (s *nearby) take(rank uint64, id near.ID, entry int32) {
	slot := s.Slot()
	s.Keep(rank, id)
	if slot == len(s.kept) {
		s.kept = append(s.kept, 0)
	}
	s.kept[slot] = entry
}

// leaf reports whether a tile is scanned instead of divided.
func leaf(n *near.Node) bool { return n.Hi-n.Lo <= leafEntries || n.Tile.Z == quadkey.CellZoom }

// Bound returns the distance of a tile.
func (s *nearby) Bound(n *near.Node) (uint64, bool) {
	if n.Lo == n.Hi {
		return 0, false
	}
	return s.MinRank(n.Tile)
}

// Visit measures the stations of a tile.
func (s *nearby) Visit(_ context.Context, n *near.Node) error {
	if !leaf(n) {
		s.Split(s, n)
		return nil
	}
	for i := n.Lo; i < n.Hi; i++ {
		e := &s.f.entries[i]
		if !s.filter.passes(e) {
			continue
		}
		if err := s.look(); err != nil {
			return err
		}
		// In a ranking ids start at 1.
		rank, id := near.DistanceRank(e.at.Distance(s.lon, s.lat)), near.ID(e.id.number()+1)
		wanted := s.Wants(rank, id)
		if wanted && s.admit != nil {
			var err error
			if wanted, err = s.admit(i); err != nil {
				return err
			}
		}
		if wanted {
			s.take(rank, id, i)
		}
	}
	return nil
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
