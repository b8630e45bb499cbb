package zones

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
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

	// known has the rules of zones that were asked for, by name, the newest first. A new zone replaces
	// the whole map.
	known atomic.Pointer[map[string][]since]
}

// since is a rule in memory.
type since struct {
	timestamp    int64 // of its cell
	seconds      int32
	dst          bool
	abbreviation string
}

const (
	// maxKnown bounds the zones whose rules are kept in memory. The database has about 600, aliases
	// included, with 2.3 MB of rules.
	maxKnown = 2000
	// maxRules is more than the rules of any zone from 1900 to 2100.
	maxRules = 4096
)

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
	r.reads.New = func() any { return &read{sel: cellstore.Selection{Families: []string{family}, Versions: maxRules}} }
	r.known.Store(&map[string][]since{})
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
// 2100 UTC gives ErrTimeRange, an unknown zone ErrNotFound. Only the first question about a zone
// reads the store.
func (r *Reader) Offset(ctx context.Context, zone string, at time.Time) (Offset, error) {
	if err := checkTime(at); err != nil {
		return Offset{}, err
	}
	list, err := r.rules(ctx, zone)
	if err != nil {
		return Offset{}, err
	}
	i := inForce(list, at)
	if i == len(list) {
		return Offset{}, fmt.Errorf("%w: %q", ErrNotFound, zone)
	}
	return list[i].offset(), nil
}

// inForce returns the index of the rule in force at an instant, or the number of rules if there is
// none.
func inForce(list []since, at time.Time) int {
	i, _ := slices.BinarySearchFunc(list, at.UnixMilli()+bias, func(s since, at int64) int { return cmp.Compare(at, s.timestamp) })
	return i
}

func (s *since) offset() Offset {
	o := Offset{Seconds: int(s.seconds), DST: s.dst, Abbreviation: s.abbreviation}
	if s.timestamp != 0 {
		o.Since = time.UnixMilli(s.timestamp - bias).UTC()
	}
	return o
}

// rules returns the rules of a zone, the newest first.
func (r *Reader) rules(ctx context.Context, zone string) ([]since, error) {
	known := r.known.Load()
	if list, ok := (*known)[zone]; ok {
		return list, nil
	}
	if zone == "" || len(zone) > maxName {
		return nil, fmt.Errorf("%w: %.80q", ErrNotFound, zone)
	}
	m := r.reads.Get().(*read)
	defer r.reads.Put(m)
	m.key = append(m.key[:0], zone...)
	found, err := r.table.Get(ctx, m.key, &m.sel, &m.row)
	if err != nil {
		return nil, fmt.Errorf("zones: %w", err)
	}
	if !found {
		return nil, fmt.Errorf("%w: %q", ErrNotFound, zone)
	}
	list, err := decode(&m.row)
	if err != nil {
		return nil, err
	}
	if len(*known) < maxKnown {
		more := maps.Clone(*known)
		more[strings.Clone(zone)] = list
		// If another goroutine stores first, the next question about the zone reads it again.
		r.known.CompareAndSwap(known, &more)
	}
	return list, nil
}

// decode reads the rules of a row.
func decode(row *cellstore.Row) ([]since, error) {
	list := make([]since, len(row.Cells))
	texts := map[string]string{}
	for i := range row.Cells {
		c := &row.Cells[i]
		if len(c.Value) < valueHead || len(list) == maxRules {
			return nil, fmt.Errorf("zones: %w: row %q of %s has another layout: ingest the time zones again", cellstore.ErrCorrupt,
				row.Key, table)
		}
		text, ok := texts[string(c.Value[valueHead:])]
		if !ok {
			text = string(c.Value[valueHead:])
			texts[text] = text
		}
		list[i] = since{c.Timestamp, int32(binary.BigEndian.Uint32(c.Value)), c.Value[4]&flagDST != 0, text}
	}
	return list, nil
}

func checkTime(at time.Time) error {
	if at.Before(first) || !at.Before(after) {
		return fmt.Errorf("%w: %s: give one from 1900 to 2100", ErrTimeRange, at.UTC().Format(time.RFC3339))
	}
	return nil
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
	list, err := r.rules(ctx, zone)
	if err != nil {
		return 0, 0, 0, err
	}
	last := inForce(list, end.Add(-time.Millisecond))
	if last == len(list) {
		return 0, 0, 0, fmt.Errorf("%w: %q", ErrNotFound, zone)
	}
	julFound := false
	for i := last; i < len(list); i++ {
		o := list[i].offset()
		if i == last || o.Seconds < raw {
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
		cellstore.ErrCorrupt, zone, table, year)
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
