package places

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/places/internal/members"
	"quadrille/places/internal/near"
	"quadrille/quadkey"
)

// Hit is one place found by Nearby, Within or Hit. Unknown values are empty or 0.
type Hit struct {
	ID         uint32  `json:"id" doc:"GeoNames id."`
	Name       string  `json:"name"`
	Country    string  `json:"country,omitempty" doc:"ISO 3166-1 alpha-2."`
	Class      string  `json:"class,omitempty" doc:"GeoNames' feature class."` // "P"
	Code       string  `json:"code,omitempty" doc:"GeoNames' feature code."`   // "PPLC"
	Admin1     string  `json:"admin1,omitempty" doc:"Code of the first-order division."`
	Admin1Name string  `json:"admin1_name,omitempty"`
	TimeZone   string  `json:"timezone,omitempty" doc:"IANA."`
	Population int64   `json:"population,omitempty" schema:"min=1"`
	Lat        float64 `json:"lat,omitempty" schema:"ref=Latitude"` // degrees
	Lon        float64 `json:"lon,omitempty" schema:"ref=Longitude"`
	DistanceM  float64 `json:"-"` // metres from the point asked about; only Nearby sets it
	// JSON is the members of the place's object, without the braces around
	// them: "id":1,"name":"…",…,"lat":47.4,"lon":8.5. Put them inside braces,
	// alone or with members of your own before or after.
	JSON []byte `json:"-"`
}

// Keys of members of a place's object.
const (
	nameKey       = `,"name":`
	admin1Key     = `,"admin1":`
	admin1NameKey = `,"admin1_name":`
	admin2Key     = `,"admin2":`
	admin3Key     = `,"admin3":`
	namesKey      = `,"names":`
	timeZoneKey   = `,"timezone":`
)

// AppendNamed appends members of a place, those of Hit.JSON or of a record, with
// another name. If that is "", they are appended as they are.
func AppendNamed(dst, json []byte, name string) []byte {
	return members.AppendNamed(dst, json, nameKey, name)
}

// texts keeps one copy of texts that many places have in common, by how they are
// written in JSON.
type texts map[string]string

const maxTexts = 1 << 12

func (t texts) of(raw []byte) string {
	s, ok := t[string(raw)]
	if !ok {
		if s = string(raw); strings.Contains(s, `\`) {
			s, _ = members.Unquote([]byte(`"` + s + `"`))
		}
		if len(t) < maxTexts {
			t[string(raw)] = s
		}
	}
	return s
}

// member returns the text of a member of a place, "" if there is none.
func (t texts) member(p *place, key string) string {
	quoted := members.Text(p.properties, key)
	if len(quoted) == 0 {
		return ""
	}
	return t.of(quoted[1 : len(quoted)-1])
}

// country returns the country of a place, "" if it is unknown.
func (t texts) country(p *place) string {
	if p.country == (country{}) {
		return ""
	}
	return t.of(p.country[:])
}

// fill sets the texts of a hit. It keeps a name that the hit had before, if it is the
// same.
func (t texts) fill(h *Hit, p *place) error {
	q := members.Text(p.properties, nameKey)
	if len(q) < 2 || string(q[1:len(q)-1]) != h.Name || strings.Contains(h.Name, `\`) {
		var err error
		if h.Name, err = nameOf(p.properties); err != nil {
			return err
		}
	}
	h.Country = t.country(p)
	h.Class, h.Code, _ = strings.Cut(t.of(p.qualifier), ".")
	h.Admin1, h.Admin1Name = t.member(p, admin1Key), t.member(p, admin1NameKey)
	h.TimeZone = t.member(p, timeZoneKey)
	return nil
}

// keptPlace is a place with memory of its own.
type keptPlace struct {
	place
	memory []byte
}

// keep makes k a copy of a place.
func (k *keptPlace) keep(p *place) {
	k.memory = append(append(k.memory[:0], p.qualifier...), p.members...)
	q, n := len(p.qualifier), len(p.properties)
	k.place = *p
	k.qualifier, k.members, k.properties = k.memory[:q], k.memory[q:], k.memory[q:q+n]
}

// tileSearch is what one Nearby or Within call has in common with others. It reads
// the places of tiles, one tier at a time, and counts them.
type tileSearch struct {
	near.Search
	f        *Finder
	filter   filter
	masks    *masks
	kept     []keptPlace // by slot
	texts    texts
	examined int
	place    place // the one at hand
	jsonOnly bool  // the hits need no texts
	only     bool  // no page follows

	most  int                        // places that may be looked at
	step  func() error               // of a query; nil for none
	admit func(*place) (bool, error) // what the index does not know of a filter; nil lets all pass
	shown feature.Feature

	fn     func(*place)                     // of read
	look   func(*cellstore.Row, error) bool // lookAt
	failed error

	scan   cellstore.Scan
	ranges [1]cellstore.Range
	family [1]string
	bounds [8]byte
}

// begin prepares a search for a page of places.
func (s *tileSearch) begin(f *Finder, flt filter, want int, limit uint64, after near.Cursor) {
	s.f, s.filter, s.masks, s.examined, s.most = f, flt, f.masks(&flt), 0, MaxExamined
	if s.texts == nil {
		s.texts = texts{}
	}
	s.Reset(want, limit, after)
}

// end lets go of what belongs to a query.
func (s *tileSearch) end() { s.step, s.admit = nil, nil }

// admits reports whether a place that is wanted passes what the index does not know. Its error
// ends the search.
func (s *tileSearch) admits(p *place) (pass bool) {
	if s.admit == nil {
		return true
	}
	pass, s.failed = s.admit(p)
	return pass && s.failed == nil
}

// stepPlaces is how many places are looked at between steps.
const stepPlaces = 256

// mayHold reports whether a tile can have places that the filter lets pass.
func (s *tileSearch) mayHold(n *near.Node) bool {
	first, last := n.Tile.CellRange()
	return s.f.indexes[n.List].mayHold(&s.masks[n.List], n.Tile.Z, first, last, n.Lo, n.Hi)
}

// read calls fn for each place in the cells of a tile. The place is valid until
// fn returns.
func (s *tileSearch) read(ctx context.Context, n *near.Node, fn func(*place)) error {
	first, last := n.Tile.CellRange()
	return s.readCells(ctx, int(n.List), first, last, fn)
}

// readCells is read of a tier of cells.
func (s *tileSearch) readCells(ctx context.Context, tier int, first, last quadkey.Cell, fn func(*place)) error {
	s.ranges[0].From, s.ranges[0].To = cellRange(s.bounds[:0], first, last)
	s.family[0] = tierNames[tier]
	s.scan.Ranges, s.scan.Families = s.ranges[:], s.family[:]
	if s.look == nil {
		s.look = s.lookAt
	}
	// A loop would allocate its body anew for each tile.
	s.fn, s.failed = fn, nil
	s.f.tiles.Scan(ctx, s.scan)(s.look)
	return s.failed
}

// lookAt takes one row of a scan, and reports whether to go on.
func (s *tileSearch) lookAt(row *cellstore.Row, err error) bool {
	if err != nil {
		s.failed = fmt.Errorf("places: %w", err)
		return false
	}
	if s.examined++; s.examined > s.most {
		s.failed = &feature.TooMuchWork{Examined: s.most}
		return false
	}
	if s.step != nil && s.examined%stepPlaces == 0 {
		if s.failed = s.step(); s.failed != nil {
			return false
		}
	}
	if s.place, s.failed = parsePlace(row); s.failed != nil {
		return false
	}
	s.fn(&s.place)
	return s.failed == nil
}

// take keeps a place that is wanted.
func (s *tileSearch) take(rank uint64, p *place) {
	slot := s.Keep(rank, uint64(p.id))
	if slot == len(s.kept) {
		s.kept = append(s.kept, keptPlace{})
	}
	s.kept[slot].keep(p)
}

// page returns the hits of a page over dst, with the point that the next page
// begins after.
func (s *tileSearch) page(dst []Hit, metres func(*near.Found) float64) (hits []Hit, last near.Found, more bool, err error) {
	var found []near.Found
	if s.only {
		found = s.Sorted()
	} else {
		found, last, more = s.Page()
	}
	dst = slices.Grow(dst[:0], len(found))[:len(found)]
	for i := range found {
		h, p := &dst[i], &s.kept[found[i].Slot].place
		if s.jsonOnly {
			*h = Hit{JSON: h.JSON}
		} else if err := s.texts.fill(h, p); err != nil {
			return dst[:0], last, false, err
		}
		h.ID, h.Lat, h.Lon, h.DistanceM = p.id, toDegrees(p.lat), toDegrees(p.lon), metres(&found[i])
		h.Population, h.JSON = int64(p.population), append(h.JSON[:0], p.members...)
	}
	return dst, last, more, nil
}

// cellsOf returns the lists of cells that a search descends.
func cellsOf(indexes *[tiers]*index) [][]quadkey.Cell {
	var lists [][]quadkey.Cell
	for _, x := range indexes {
		lists = append(lists, x.samples)
	}
	return lists
}
