package airports

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"sync"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/places"
	"quadrille/places/internal/members"
)

// Finder reads the tables that Build has written.
type Finder struct {
	codes cellstore.Table
	geo   *places.Finder
	about feature.Info
	reads sync.Pool // of *read
}

// read is the memory of one call of get.
type read struct {
	row cellstore.Row
	key []byte
}

// renew is the command that replaces tables of another layout.
const renew = "run ingest airports"

// Open returns a Finder of the tables in a store. Meta is what Build returned.
// Tables of another layout are refused with cellstore.ErrLayout.
func Open(ctx context.Context, store cellstore.Store, meta Meta) (*Finder, error) {
	if err := cellstore.CheckLayout("airports", meta.SchemaVersion, SchemaVersion, SchemaVersion, renew); err != nil {
		return nil, err
	}
	f := &Finder{}
	f.reads.New = func() any { return new(read) }
	var err error
	if f.codes, err = store.Table(ctx, table); err != nil {
		return nil, fmt.Errorf("airports: %w", err)
	}
	// This check comes before places.Open, whose error would name the ingest command for places.
	if err := cellstore.CheckLayout("the places of airports", meta.Places.SchemaVersion, places.SchemaVersion,
		places.SchemaVersion, renew); err != nil {
		return nil, err
	}
	if f.geo, err = places.Open(ctx, store, meta.Places); err != nil {
		return nil, fmt.Errorf("airports: %w", err)
	}
	f.geo.Kinds = kindsOf
	f.about = *f.geo.Info()
	f.about.Name, f.about.Title, f.about.Description, f.about.Schema = "airports", "Airports", "Airports, closed ones too.", schema
	f.about.Drawing = &drawing
	return f, nil
}

// OpenPublished opens published airports, such as a generation of package dataset.
func OpenPublished(ctx context.Context, p cellstore.Published) (*Finder, error) {
	return cellstore.OpenPublished(ctx, p, SchemaVersion, Open)
}

// Record is an airport found by a code.
type Record struct {
	ID       uint32
	Lat, Lon float64 // degrees
	TimeZone string  // IANA name, empty when unknown
	// TimeZoneSource is "region", "country" or "nearest" when the time zone is
	// derived, else empty.
	TimeZoneSource string
	// JSON is the record, an object with the known members out of these: id, ident, iata, icao,
	// gps, local, name, type, municipality, country, region (ISO 3166-2), scheduled, lat and lon
	// (degrees), elevation_m, timezone, timezone_source, keywords (a list), home and wikipedia
	// (links).
	JSON []byte
}

// Airport decodes the record.
func (r *Record) Airport() (Airport, error) {
	var a Airport
	if err := json.Unmarshal(r.JSON, &a); err != nil {
		return a, fmt.Errorf("airports: %w: the record of airport %d cannot be read: ingest the airports again", cellstore.ErrCorrupt, r.ID)
	}
	return a, nil
}

// Lookup finds an airport by a code in either case of letters. Three letters are first taken as an
// IATA code, and four as an ICAO code. Any code may also be an ident, a GPS code or a local code.
// The record overwrites r, whose memory is reused. If no airport has the code, the error is
// ErrNotFound. If the text cannot be a code, the error is ErrBadCode.
func (f *Finder) Lookup(ctx context.Context, code string, r *Record) error {
	m := f.reads.Get().(*read)
	defer f.reads.Put(m)
	kinds := [2]CodeKind{Local}
	switch len(code) {
	case 3:
		kinds = [2]CodeKind{IATA, Local}
	case 4:
		kinds = [2]CodeKind{ICAO, Local}
	}
	for _, k := range kinds {
		if k == 0 {
			break
		}
		found, err := f.get(ctx, m, k, code, r)
		if found || err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: %q", ErrNotFound, code)
}

// ByCode does the same as Lookup, for one kind of codes.
func (f *Finder) ByCode(ctx context.Context, kind CodeKind, code string, r *Record) error {
	if kind != IATA && kind != ICAO && kind != Local {
		return fmt.Errorf("%w: there are the kinds IATA, ICAO and Local", ErrBadCode)
	}
	m := f.reads.Get().(*read)
	defer f.reads.Put(m)
	found, err := f.get(ctx, m, kind, code, r)
	if err == nil && !found {
		err = fmt.Errorf("%w: %q", ErrNotFound, code)
	}
	return err
}

func (f *Finder) get(ctx context.Context, m *read, kind CodeKind, code string, r *Record) (found bool, err error) {
	if m.key, err = appendCode(append(m.key[:0], byte(kind)), code); err != nil {
		return false, err
	}
	if found, err = f.codes.Get(ctx, m.key, nil, &m.row); err != nil {
		return false, fmt.Errorf("airports: %w", err)
	}
	if !found {
		return false, nil
	}
	v := m.row.Cells[0].Value
	if len(v) < valueHead || len(v) < valueHead+int(v[valueHead-1]) {
		return false, fmt.Errorf("airports: %w: row %q of %s has another layout: ingest the airports again", cellstore.ErrCorrupt, m.key, table)
	}
	r.ID = binary.BigEndian.Uint32(v)
	r.Lat = float64(int32(binary.BigEndian.Uint32(v[4:]))) / unitsPerDegree
	r.Lon = float64(int32(binary.BigEndian.Uint32(v[8:]))) / unitsPerDegree
	zone := v[valueHead : valueHead+int(v[valueHead-1])]
	if string(zone) != r.TimeZone { // else the string it has will do
		r.TimeZone = string(zone)
	}
	r.JSON = append(r.JSON[:0], v[valueHead+len(zone):]...)
	source := members.Text(r.JSON, `,"timezone_source":`)
	if len(source) < 2 || string(source[1:len(source)-1]) != r.TimeZoneSource {
		r.TimeZoneSource, _ = members.Unquote(source)
	}
	return true, nil
}
