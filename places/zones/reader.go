package zones

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"quadrille/cellstore"
)

// Reader reads the tables of Build.
type Reader struct {
	table     cellstore.Table
	countries cellstore.Table // nil without any
	reads     sync.Pool       // of *read

	// abbreviations has the abbreviations of earlier answers, so that a new answer need not copy
	// its own. A new abbreviation replaces the whole map.
	abbreviations atomic.Pointer[map[string]string]
}

// maxAbbreviations bounds the map. The whole database has about 300.
const maxAbbreviations = 2000

// Open returns a Reader of the table in a store. Meta is the result of Build. A
// table of another layout is refused with cellstore.ErrLayout.
func Open(ctx context.Context, store cellstore.Store, meta Meta) (*Reader, error) {
	if err := cellstore.CheckLayout("time zones", meta.SchemaVersion, 1, SchemaVersion, "run ingest timezones"); err != nil {
		return nil, err
	}
	t, err := store.Table(ctx, table)
	if err != nil {
		return nil, fmt.Errorf("zones: %w", err)
	}
	r := &Reader{table: t}
	if meta.Countries > 0 {
		if r.countries, err = store.Table(ctx, countryTable); err != nil {
			return nil, fmt.Errorf("zones: %w", err)
		}
	}
	r.reads.New = func() any { return &read{sel: cellstore.Selection{Families: []string{family}}} }
	r.abbreviations.Store(&map[string]string{})
	return r, nil
}

// OpenPublished opens published time zones, such as a generation of package dataset.
func OpenPublished(ctx context.Context, p cellstore.Published) (*Reader, error) {
	return cellstore.OpenPublished(ctx, p, SchemaVersion, Open)
}

// read is the memory of one call.
type read struct {
	row cellstore.Row
	sel cellstore.Selection
	key []byte
}

// Offset is the offset of a zone's local time from UTC.
type Offset struct {
	Seconds      int    // east of UTC
	DST          bool   // whether daylight saving time is in force
	Abbreviation string // "CEST", or "+03" in zones without an abbreviation
	// Since is the instant at which the offset came into force, UTC. It is zero if the offset has
	// always been in force.
	Since time.Time
}

// Offset returns the offset of a zone at an instant. An instant outside 1900 to
// 2100 UTC gives ErrTimeRange, an unknown zone ErrNotFound.
func (r *Reader) Offset(ctx context.Context, zone string, at time.Time) (Offset, error) {
	if err := checkTime(at); err != nil {
		return Offset{}, err
	}
	m := r.reads.Get().(*read)
	defer r.reads.Put(m)
	if err := r.get(ctx, m, zone, at, 1); err != nil {
		return Offset{}, err
	}
	return r.decode(&m.row, 0)
}

// get reads the newest rules that are not newer than at.
func (r *Reader) get(ctx context.Context, m *read, zone string, at time.Time, versions int) error {
	if zone == "" || len(zone) > maxName {
		return fmt.Errorf("%w: %.80q", ErrNotFound, zone)
	}
	m.key = append(m.key[:0], zone...)
	m.sel.Time, m.sel.Versions = cellstore.AsOf(at.UnixMilli()+bias), versions
	found, err := r.table.Get(ctx, m.key, &m.sel, &m.row)
	if err != nil {
		return fmt.Errorf("zones: %w", err)
	}
	if !found {
		return fmt.Errorf("%w: %q", ErrNotFound, zone)
	}
	return nil
}

func checkTime(at time.Time) error {
	if at.Before(first) || !at.Before(after) {
		return fmt.Errorf("%w: %s: give one from 1900 to 2100", ErrTimeRange, at.UTC().Format(time.RFC3339))
	}
	return nil
}

// decode reads a cell of a row.
func (r *Reader) decode(row *cellstore.Row, i int) (Offset, error) {
	c := &row.Cells[i]
	if len(c.Value) < valueHead {
		return Offset{}, fmt.Errorf("zones: %w: row %q of %s has another layout: ingest the time zones again", cellstore.ErrCorrupt,
			row.Key, table)
	}
	o := Offset{
		Seconds:      int(int32(binary.BigEndian.Uint32(c.Value))),
		DST:          c.Value[4]&flagDST != 0,
		Abbreviation: r.abbreviation(c.Value[valueHead:]),
	}
	if c.Timestamp != 0 {
		o.Since = time.UnixMilli(c.Timestamp - bias).UTC()
	}
	return o, nil
}

// abbreviation returns the bytes as a string.
func (r *Reader) abbreviation(b []byte) string {
	known := r.abbreviations.Load()
	if s, ok := (*known)[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(*known) < maxAbbreviations {
		more := maps.Clone(*known)
		more[s] = s
		// If another goroutine stores first, the next call copies the map again.
		r.abbreviations.CompareAndSwap(known, &more)
	}
	return s
}

// CountryZone returns the zone of a country that has only one, by its ISO
// 3166-1 code in capital letters. It returns "" for countries that have several
// zones, or an unknown number.
func (r *Reader) CountryZone(ctx context.Context, code string) (string, error) {
	if r.countries == nil || code == "" {
		return "", nil
	}
	m := r.reads.Get().(*read)
	defer r.reads.Put(m)
	m.key = append(m.key[:0], code...)
	found, err := r.countries.Get(ctx, m.key, nil, &m.row)
	if err != nil {
		return "", fmt.Errorf("zones: %w", err)
	}
	if !found {
		return "", nil
	}
	return string(m.row.Cells[0].Value), nil
}

// rulesPerYear exceeds the rules of any year. At most four have begun in one
// year so far.
const rulesPerYear = 16

// YearOffsets returns the offsets of a year in the form of time zone lists, in
// seconds: at the beginning of 1 January and of 1 July UTC, and the least
// offset during the year. The least is standard time where daylight saving time
// is added to it. A year outside 1900 to 2100 gives ErrTimeRange.
func (r *Reader) YearOffsets(ctx context.Context, zone string, year int) (jan, jul, raw int, err error) {
	if year < first.Year() || year >= after.Year() {
		return 0, 0, 0, fmt.Errorf("%w: year %d: give one from 1900 to 2100", ErrTimeRange, year)
	}
	begin, middle := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(year, 7, 1, 0, 0, 0, 0, time.UTC)
	end := time.Date(year+1, 1, 1, 0, 0, 0, 0, time.UTC)
	m := r.reads.Get().(*read)
	defer r.reads.Put(m)
	if err := r.get(ctx, m, zone, end.Add(-time.Millisecond), rulesPerYear); err != nil {
		return 0, 0, 0, err
	}
	julFound := false
	for i := range m.row.Cells { // the newest first
		o, err := r.decode(&m.row, i)
		if err != nil {
			return 0, 0, 0, err
		}
		if i == 0 || o.Seconds < raw {
			raw = o.Seconds
		}
		if !julFound && !o.Since.After(middle) {
			jul, julFound = o.Seconds, true
		}
		if !o.Since.After(begin) {
			return o.Seconds, jul, raw, nil
		}
	}
	return 0, 0, 0, fmt.Errorf("zones: %w: row %q of %s does not reach back to %d: ingest the time zones again",
		cellstore.ErrCorrupt, m.row.Key, table, year)
}

// Local returns an instant as clocks with an offset show it.
func Local(at time.Time, o Offset) time.Time {
	return at.In(time.FixedZone(o.Abbreviation, o.Seconds))
}

// AppendOffset appends seconds east of UTC as +02:00. It appends +00:34:08 if
// they are not whole minutes, as before zones were agreed on.
func AppendOffset(dst []byte, seconds int) []byte {
	sign := byte('+')
	if seconds < 0 {
		sign, seconds = '-', -seconds
	}
	two := func(n int) { dst = append(dst, byte('0'+n/10%10), byte('0'+n%10)) }
	dst = append(dst, sign)
	two(seconds / 3600)
	dst = append(dst, ':')
	two(seconds / 60 % 60)
	if s := seconds % 60; s != 0 {
		dst = append(dst, ':')
		two(s)
	}
	return dst
}

// AppendLocal appends an instant as clocks with an offset show it, in the
// format of RFC 3339 to the second: 2026-07-01T14:00:00+02:00. RFC 3339 has no
// offsets with seconds; AppendLocal writes them with their seconds.
func AppendLocal(dst []byte, at time.Time, o Offset) []byte {
	dst = at.UTC().Add(time.Duration(o.Seconds)*time.Second).AppendFormat(dst, "2006-01-02T15:04:05")
	return AppendOffset(dst, o.Seconds)
}
