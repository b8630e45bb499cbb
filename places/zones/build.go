package zones

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"quadrille/cellstore"
	"quadrille/places/internal/bulkload"
)

// rule is the rule of a zone from an instant on.
type rule struct {
	start        time.Time // zero: always
	seconds      int
	dst          bool
	abbreviation string
}

// Build writes the rules of the named zones, and the zone of each country with
// only one, into a store without the tables. The names may come in any order. A
// name that time.LoadLocation does not know, or that is given twice, is an
// error. countries maps two capital letters (ISO 3166-1) to one of the names
// and may be empty. Discard the store after a failed build.
func Build(ctx context.Context, store cellstore.Store, names []string, countries map[string]string) (Meta, Stats, error) {
	meta, stats, err := build(ctx, store, names, countries)
	if err != nil {
		return Meta{}, stats, fmt.Errorf("zones: %w", err)
	}
	return meta, stats, nil
}

func build(ctx context.Context, store cellstore.Store, names []string, countries map[string]string) (meta Meta, stats Stats, err error) {
	names = slices.Sorted(slices.Values(names)) // the order of rows
	for i, name := range names {
		if i > 0 && name == names[i-1] {
			return meta, stats, fmt.Errorf("zone %q is named twice; name each once", name)
		}
	}
	sum := sha256.New()
	if err := writeRules(ctx, store, names, sum, &stats); err != nil {
		return meta, stats, err
	}
	if err := writeCountries(ctx, store, names, countries, sum); err != nil {
		return meta, stats, err
	}
	return Meta{
		SchemaVersion: SchemaVersion, Zones: stats.Zones, Rules: stats.Rules, Countries: int64(len(countries)),
		Fingerprint: hex.EncodeToString(sum.Sum(nil)[:16]),
	}, stats, nil
}

// fillTable creates a table and loads the cells that fill adds.
func fillTable(ctx context.Context, store cellstore.Store, s cellstore.Schema, fill func(*bulkload.Load) error) error {
	if err := store.CreateTable(ctx, s); err != nil {
		return err
	}
	return bulkload.Fill(ctx, store, s.Table, fill)
}

func writeRules(ctx context.Context, store cellstore.Store, names []string, sum io.Writer, stats *Stats) error {
	return fillTable(ctx, store, schema(), func(l *bulkload.Load) error {
		var value []byte
		for _, name := range names {
			if err := ctx.Err(); err != nil {
				return err
			}
			loc, err := load(name)
			if err != nil {
				return err
			}
			rules := rulesOf(loc)
			for _, r := range slices.Backward(rules) { // newest first is the order of cells
				value = appendValue(value[:0], &r)
				cell := cellstore.Cell{Family: family, Timestamp: timestamp(r.start), Value: value}
				if err := l.Add([]byte(name), cell); err != nil {
					return err
				}
				// Lengths come first, so that no two tables hash the same text.
				fmt.Fprintf(sum, "%d %d %d %s%s", len(name), cell.Timestamp, len(value), name, value)
			}
			stats.Zones++
			stats.Rules += int64(len(rules))
			stats.MaxRules = max(stats.MaxRules, len(rules))
		}
		return nil
	})
}

// writeCountries writes no table if there are no countries.
func writeCountries(ctx context.Context, store cellstore.Store, names []string, countries map[string]string, sum io.Writer) error {
	if len(countries) == 0 {
		return nil
	}
	schema := cellstore.Schema{Table: countryTable, Families: []cellstore.Family{{Name: family}}}
	return fillTable(ctx, store, schema, func(l *bulkload.Load) error {
		for _, code := range slices.Sorted(maps.Keys(countries)) {
			zone := countries[code]
			if len(code) != 2 || code[0] < 'A' || code[0] > 'Z' || code[1] < 'A' || code[1] > 'Z' {
				return fmt.Errorf("country %.20q: give two capital letters such as CH", code)
			}
			if _, known := slices.BinarySearch(names, zone); !known {
				return fmt.Errorf("country %s has zone %.80q, which is not among the names; name it too", code, zone)
			}
			if err := l.Add([]byte(code), cellstore.Cell{Family: family, Value: []byte(zone)}); err != nil {
				return err
			}
			fmt.Fprintf(sum, "%s %d %s", code, len(zone), zone)
		}
		return nil
	})
}

func schema() cellstore.Schema {
	return cellstore.Schema{Table: table, Families: []cellstore.Family{{
		Name: family, MaxVersions: cellstore.Unlimited, Compression: cellstore.CompressionZstd,
		// A zone's rules take about 2 KiB and are read one at a time.
		BlockSize: 4 << 10,
	}}}
}

func load(name string) (*time.Location, error) {
	// LoadLocation takes "" for UTC and "Local" for this machine's zone.
	if name == "" || name == "Local" || len(name) > maxName {
		return nil, fmt.Errorf("%.80q is not the name of a time zone; name one such as Europe/Zurich", name)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("%.80q is not in this machine's zone database; install a newer one or leave the name out: %w", name, err)
	}
	return loc, nil
}

// step is shorter than the duration of any rule.
const step = time.Minute

// rulesOf lists the rules of a zone from 1900 to 2100, oldest first. The first
// starts at its true beginning, which may be long before 1900.
func rulesOf(loc *time.Location) []rule {
	var rules []rule
	for t := first.In(loc); t.Before(after); {
		start, end := t.ZoneBounds()
		r := ruleAt(t)
		r.start = start.UTC()
		if len(rules) == 0 {
			r.start = beginning(t)
		}
		// Go also has bounds at years, and at changes that are not stored here.
		// The previous rule then continues.
		if n := len(rules); n == 0 || !rules[n-1].same(&r) {
			rules = append(rules, r)
		}
		if end.IsZero() {
			break // it holds for ever
		}
		// On the last day of a leap year Go's end lies in the past.
		if t = t.Add(step); end.After(t) {
			t = end
		}
	}
	return rules
}

// beginning returns when the rule at t came into force, or the zero time if it was always in force.
func beginning(t time.Time) time.Time {
	r := ruleAt(t)
	for {
		start, _ := t.ZoneBounds()
		if start.IsZero() {
			return time.Time{}
		}
		t = start.Add(-time.Second)
		if before := ruleAt(t); !before.same(&r) {
			return start.UTC()
		}
	}
}

func ruleAt(t time.Time) rule {
	name, seconds := t.Zone()
	return rule{seconds: seconds, dst: t.IsDST(), abbreviation: name}
}

func (r *rule) same(o *rule) bool {
	return r.seconds == o.seconds && r.dst == o.dst && r.abbreviation == o.abbreviation
}

func timestamp(start time.Time) int64 {
	if start.IsZero() {
		return 0
	}
	return max(start.UnixMilli()+bias, 0)
}

func appendValue(dst []byte, r *rule) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(int32(r.seconds)))
	var flags byte
	if r.dst {
		flags |= flagDST
	}
	return append(append(dst, flags), r.abbreviation...)
}
