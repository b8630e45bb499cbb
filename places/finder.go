package places

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"unicode"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/mozillazg/go-unidecode"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/internal/lang"
	"quadrille/places/internal/members"
	"quadrille/places/search"
	"quadrille/quadkey"
)

// Finder reads the output of Build. It is safe for concurrent use, as long as its store is open.
type Finder struct {
	// Kinds says what the kinds of the data set tell, nil for a data set without. It is set before
	// the first question.
	Kinds Kinds

	tiles, info, rollup, codeTable cellstore.Table

	indexes    *[tiers]*index
	unfiltered *masks
	kept       *lru.Cache[string, *masks] // of the most recently used filters
	codes      *codes
	names      *search.Reader   // nil without name search
	nearest    *nearestTable    // nil in older data sets
	cells      [][]quadkey.Cell // of indexes
	about      feature.Info

	nearbys sync.Pool // of *nearby
	withins sync.Pool // of *within
	pickers sync.Pool // of *picker
	rows    sync.Pool // of *cellstore.Row
}

// Open returns a Finder of the tables in a store. meta is the result of Build. Open reads
// place_index, and all of gazetteer but the second-level divisions, into memory and checks them.
// Errors match cellstore.ErrLayout for tables of another layout and cellstore.ErrCorrupt for
// damaged ones.
func Open(ctx context.Context, store cellstore.Store, meta Meta) (*Finder, error) {
	if err := cellstore.CheckLayout("places", meta.SchemaVersion, SchemaVersion, SchemaVersion, "run ingest places"); err != nil {
		return nil, err
	}
	kept, err := lru.New[string, *masks](cachedMasks)
	if err != nil {
		return nil, fmt.Errorf("places: %w", err)
	}
	f := &Finder{kept: kept, about: meta.info()}
	f.nearbys.New = func() any { return newNearby() }
	f.withins.New = func() any { return newWithin() }
	f.pickers.New = func() any { return new(picker) }
	f.rows.New = func() any { return new(cellstore.Row) }
	var index cellstore.Table
	for _, t := range []struct {
		name string
		into *cellstore.Table
	}{{tableTiles, &f.tiles}, {tableInfo, &f.info}, {tableRollup, &f.rollup}, {tableIndex, &index}, {tableCodes, &f.codeTable}} {
		table, err := store.Table(ctx, tableName(meta.Prefix, t.name))
		if err != nil {
			return nil, fmt.Errorf("places: %w", err)
		}
		*t.into = table
	}
	if f.indexes, err = readIndex(ctx, index); err != nil {
		return nil, fmt.Errorf("places: %w", err)
	}
	if f.codes, err = readCodes(ctx, f.codeTable); err != nil {
		return nil, fmt.Errorf("places: %w", err)
	}
	if f.nearest, err = openNearest(ctx, store, &meta); err != nil {
		return nil, fmt.Errorf("places: %w", err)
	}
	if meta.Search != nil {
		if f.names, err = search.Open(ctx, store, *meta.Search); err != nil {
			return nil, fmt.Errorf("places: %w", err)
		}
	}
	var count int64
	f.unfiltered = &masks{}
	for tier, x := range f.indexes {
		count += int64(x.count)
		x.unweighted = meta.Unweighted
		f.unfiltered[tier] = x.mask(&filter{})
	}
	f.cells = cellsOf(f.indexes)
	if count != meta.Places {
		return nil, fmt.Errorf("places: %w: tables hold %d places, the manifest says %d: build the data set again",
			cellstore.ErrCorrupt, count, meta.Places)
	}
	return f, nil
}

// OpenPublished opens published places, such as a generation of package dataset.
func OpenPublished(ctx context.Context, p cellstore.Published) (*Finder, error) {
	return cellstore.OpenPublished(ctx, p, SchemaVersion, Open)
}

var (
	selectJSON    = &cellstore.Selection{Families: []string{famJSON}}
	selectMembers = &cellstore.Selection{Columns: []cellstore.Column{{Family: famJSON}}}
	selectAdmin2  = &cellstore.Selection{Families: []string{famAdmin2}}
	selectCounts  = &cellstore.Selection{Families: []string{famCounts}}
	selectShown   = &cellstore.Selection{Families: []string{famGeoJSON, famPoints}}
	selectPoints  = &cellstore.Selection{Families: []string{famPoints}}
)

// Place returns the record of a place, a JSON object with all that is stored about it. First come
// the members that Hit has too:
//
//	id, name, country, class, code, population, admin1, admin1_name, timezone,
//	those of Place.Extra, lat, lon (degrees)
//
// and then, from the place's row,
//
//	ascii_name, alternate_names and cc2 (lists), country_name, admin2,
//	admin2_name, admin3, admin4, admin5, elevation_m, dem_m, modified (a date)
//
// and from the other sequences of Source
//
//	parents     ids of the places it lies in
//	names       an object: language → the name to display
//	codes       an object: faac, iata, icao, unlc → the code
//	wikidata    the id of its Wikidata item
//	alternates  all alternate names in the order given: objects with name,
//	            lang, and preferred, short, colloquial, historic where true
//
// An id without a place gives ErrNotFound. The caller owns the bytes.
func (f *Finder) Place(ctx context.Context, id uint32) ([]byte, error) {
	row := f.rows.Get().(*cellstore.Row)
	defer f.rows.Put(row)
	if err := f.getInfo(ctx, id, selectJSON, row); err != nil {
		return nil, err
	}
	record := []byte{'{'}
	for i := range row.Cells {
		record = append(record, row.Cells[i].Value...)
	}
	return append(record, '}'), nil
}

// Record is the decoded form of Place's result. Only members that callers use have fields.
type Record struct {
	Hit                            // without its JSON
	ASCIIName      string          `json:"ascii_name,omitempty"`
	AlternateNames []string        `json:"alternate_names,omitempty"`
	Admin2         string          `json:"admin2,omitempty"`
	Admin2Name     string          `json:"admin2_name,omitempty"`
	Admin3         string          `json:"admin3,omitempty"`
	Admin4         string          `json:"admin4,omitempty"`
	Admin5         string          `json:"admin5,omitempty"`
	Elevation      *int64          `json:"elevation_m,omitempty"`                       // nil: unknown
	DEM            *int64          `json:"dem_m,omitempty" doc:"Of the terrain model."` // nil: unknown
	Alternates     []AlternateName `json:"alternates,omitempty"`                        // without ids
}

// Record reads the record of a place into r, which it overwrites. An id without a place gives
// ErrNotFound.
func (f *Finder) Record(ctx context.Context, id uint32, r *Record) error {
	record, err := f.Place(ctx, id)
	if err != nil {
		return err
	}
	*r = Record{}
	return decode(id, record, r, &r.Hit)
}

// DivisionCodes returns the codes of the second and third-level divisions of a place, or "" if it
// has none. They are the same as in its Record, but are read in a fraction of the time. An unknown
// id gives ErrNotFound.
func (f *Finder) DivisionCodes(ctx context.Context, id uint32) (admin2, admin3 string, err error) {
	row := f.rows.Get().(*cellstore.Row)
	defer f.rows.Put(row)
	if err := f.getInfo(ctx, id, selectJSON, row); err != nil {
		return "", "", err
	}
	for _, c := range row.Cells[1:] {
		// A language code may equal the name of a member.
		details, _, _ := bytes.Cut(c.Value, []byte(namesKey))
		admin2, _ = members.Unquote(members.Text(details, admin2Key))
		admin3, _ = members.Unquote(members.Text(details, admin3Key))
	}
	return admin2, admin3, nil
}

// Hit reads a place into h, like a hit of a search. It reuses the memory of h. An id without a
// place gives ErrNotFound.
func (f *Finder) Hit(ctx context.Context, id uint32, h *Hit) error {
	row := f.rows.Get().(*cellstore.Row)
	defer f.rows.Put(row)
	if err := f.getInfo(ctx, id, selectMembers, row); err != nil {
		return err
	}
	members := row.Cells[0].Value
	*h = Hit{JSON: append(append(append(h.JSON[:0], '{'), members...), '}')}
	err := decode(id, h.JSON, h, h)
	h.JSON = append(h.JSON[:0], members...)
	return err
}

// decode decodes the stored object of a place into into and h; h is a part of into. An object
// without a name or a position, or of another place, is damaged.
func decode(id uint32, object []byte, into any, h *Hit) error {
	h.Lat, h.Lon = math.NaN(), math.NaN()
	err := json.Unmarshal(object, into)
	if err != nil || h.ID != id || h.Name == "" || !(quadkey.Position{Lat: h.Lat, Lon: h.Lon}).Valid() {
		return damaged(id)
	}
	return nil
}

func damaged(id uint32) error {
	return fmt.Errorf("places: %w: the record of place %d cannot be read: ingest the places again", cellstore.ErrCorrupt, id)
}

// getInfo reads the row of a place, or returns ErrNotFound.
func (f *Finder) getInfo(ctx context.Context, id uint32, sel *cellstore.Selection, row *cellstore.Row) error {
	var key [4]byte
	found, err := f.info.Get(ctx, appendInfoKey(key[:0], id), sel, row)
	if err != nil {
		return fmt.Errorf("places: %w", err)
	}
	if !found {
		return fmt.Errorf("%w: id %d", ErrNotFound, id)
	}
	if len(row.Cells[0].Qualifier) > 0 {
		return cellstore.CorruptRow(tableInfo, row.Key, "lacks its members")
	}
	return nil
}

// NameIn returns the name of a place to display in a language, such as "de" or "zh-TW", in either
// case. If there is none, it returns the name in the next language of lang.FallbackChain ("zh-Hant", "zh"),
// and for "en" the place's own name. In a language of Latin letters, an own name without any is returned
// in Latin letters. It reports whether it has found a name. For an id without a place it returns
// false, or ErrNotFound for English.
func (f *Finder) NameIn(ctx context.Context, id uint32, code string) (name string, ok bool, err error) {
	if code == "" || !validLang(code) {
		return "", false, feature.BadQuery("language %.40q: give an ISO 639 code such as de", code)
	}
	row := f.rows.Get().(*cellstore.Row)
	defer f.rows.Put(row)
	var key [4]byte
	appendInfoKey(key[:0], id)
	chain := lang.FallbackChain(code)
	for _, l := range chain {
		column := [1]cellstore.Column{{Family: famNames, Qualifier: []byte(l)}}
		found, err := f.info.Get(ctx, key[:], &cellstore.Selection{Columns: column[:]}, row)
		if err != nil {
			return "", false, fmt.Errorf("places: %w", err)
		}
		if found {
			return string(row.Cells[0].Value), true, nil
		}
	}
	english := chain[len(chain)-1] == "en"
	if !english && !lang.IsLatin(code) {
		return "", false, nil
	}
	if err := f.getInfo(ctx, id, selectMembers, row); err != nil {
		if !english && errors.Is(err, ErrNotFound) {
			err = nil
		}
		return "", false, err
	}
	own, err := nameOf(row.Cells[0].Value)
	if name = own; err == nil && lang.IsLatin(code) && !strings.ContainsFunc(own, isLatin) {
		name, err = f.latinName(ctx, id, own)
	}
	if err != nil || !english && name == own {
		return "", false, err
	}
	return name, true, nil
}

func isLatin(r rune) bool { return unicode.Is(unicode.Latin, r) }

// latinName returns the name of a place in Latin letters: its ASCII name, or else its own name letter
// by letter. Letters of scripts that write no vowels, or no sounds, say too little for that.
func (f *Finder) latinName(ctx context.Context, id uint32, own string) (string, error) {
	record, err := f.Place(ctx, id)
	if err != nil {
		return "", err
	}
	if name := feature.CompactProperties(record[1 : len(record)-1]).Text("ascii_name"); name != "" {
		return name, nil
	}
	for _, r := range own {
		if unicode.IsLetter(r) && !unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Georgian) {
			return own, nil
		}
	}
	return unidecode.Unidecode(own), nil
}

// Counts calls fn with the number of places of each feature class in a tile, in the order of
// classes. Places without a class are counted under "". The tile's zoom must be at most 10: deeper
// tiles have no counts and give ErrQuery.
func (f *Finder) Counts(ctx context.Context, t quadkey.Tile, fn func(class string, count int64)) error {
	if err := checkTile(t); err != nil {
		return err
	}
	if t.Z > MaxCountedZoom {
		return fmt.Errorf("%w: tile %v: places are counted up to zoom %d", ErrQuery, t, MaxCountedZoom)
	}
	row := f.rows.Get().(*cellstore.Row)
	defer f.rows.Put(row)
	if _, err := f.getRollup(ctx, t, selectCounts, row); err != nil {
		return err
	}
	for i := range row.Cells {
		c := &row.Cells[i]
		if len(c.Value) != 8 {
			return cellstore.CorruptRow(tableRollup, row.Key, "has another layout")
		}
		fn(string(c.Qualifier), int64(binary.BigEndian.Uint64(c.Value)))
	}
	return nil
}

// getRollup reads one family of a tile's rollup. It returns false for a tile without places, which
// has no row.
func (f *Finder) getRollup(ctx context.Context, t quadkey.Tile, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	key := t.Key()
	found, err := f.rollup.Get(ctx, key[:], sel, row)
	if err != nil {
		return false, fmt.Errorf("places: %w", err)
	}
	return found, nil
}

func checkTile(t quadkey.Tile) error {
	if !t.Valid() {
		return fmt.Errorf("%w: tile %v: there is none with this number", ErrQuery, t)
	}
	return nil
}
