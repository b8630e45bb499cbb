package names

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"quadrille/cellstore"
	"quadrille/internal/extsort"
	"quadrille/places/internal/bulkload"
	"quadrille/places/search"
)

const (
	tableFeatures = "feature"
	famFeature    = "f"
	tableLocal    = "local_name"
	famLocal      = "n"
)

// localMemory is the divisor of Options.Memory for the memory that sorts the names by language.
const localMemory = 8

// Options are the options of Build.
type Options struct {
	TempDir string // for sorting; empty is the system's
	Memory  int64  // bytes; 0 is the default of package search
	// Progress, if set, is called at intervals.
	Progress           func(stage string, done, total int64)
	Timestamp          int64               // of all cells, in milliseconds
	SourceCountryCodes map[string][]string // see Meta
	Admin1Codes        map[string]string   // see Meta
}

// Meta describes the result of Build. It is stored in the manifest of the generation.
type Meta struct {
	SchemaVersion int            `json:"schema_version"`
	Features      map[Kind]int64 `json:"features"`
	Search        search.Meta    `json:"search"`
	// SourceCountryCodes maps the code of a country on the map to the other country codes that sources
	// have for places in it. These are the codes of territories without a region of their own, and of
	// other countries that claim the places.
	SourceCountryCodes map[string][]string `json:"drawn,omitempty"`
	// Admin1Codes maps the id of a region of type state to the source's code of the division, such as
	// FR.76. The region is that division or a part of it.
	Admin1Codes map[string]string `json:"divisions,omitempty"`
}

// Build writes features into a store that has no tables of them. Discard the store after
// a failed build. Errors match ErrFeature, or come from the sequence or the store.
func Build(ctx context.Context, store cellstore.Store, seq iter.Seq2[Feature, error], opts Options) (Meta, error) {
	meta := Meta{SchemaVersion: SchemaVersion, Features: map[Kind]int64{},
		SourceCountryCodes: opts.SourceCountryCodes, Admin1Codes: opts.Admin1Codes}
	fail := func(err error) (Meta, error) { return Meta{}, fmt.Errorf("names: %w", err) }
	for table, family := range map[string]string{tableFeatures: famFeature, tableLocal: famLocal} {
		schema := cellstore.Schema{Table: table, Families: []cellstore.Family{{Name: family}}}
		if err := store.CreateTable(ctx, schema); err != nil {
			return fail(err)
		}
	}
	local := extsort.NewBytes(opts.TempDir, opts.Memory/localMemory)
	defer func() { _ = local.Close() }() // a temporary file stays at worst
	b, err := search.NewBuilder(ctx, store, search.Options{
		TempDir: opts.TempDir, Memory: opts.Memory, Progress: opts.Progress,
		Timestamp: func() int64 { return opts.Timestamp },
		Lookup:    func(_ uint32, dst []byte) ([]byte, error) { return append(dst, `"kind":""`...), nil },
	})
	if err != nil {
		return fail(err)
	}
	defer func() { _ = b.Close() }() // a temporary file stays at worst
	err = bulkload.Fill(ctx, store, tableFeatures, func(l *bulkload.Load) error {
		id := uint32(0)
		var numbers []numbered
		for f, err := range seq {
			if err == nil {
				err = f.check()
			}
			if err != nil {
				return err
			}
			id++
			meta.Features[f.Kind]++
			if err := f.sortLocal(local); err != nil {
				return err
			}
			e := f.entry(id)
			if err := b.Add(&e); err != nil {
				return err
			}
			value, err := json.Marshal(&f)
			if err != nil {
				return err
			}
			numbers = append(numbers, numbered{Number(f.Kind, f.Type, f.ID), id})
			key := binary.BigEndian.AppendUint32(nil, id)
			if err := l.Add(key, cellstore.Cell{Family: famFeature, Timestamp: opts.Timestamp, Value: value}); err != nil {
				return err
			}
		}
		return addNumbers(l, numbers, opts.Timestamp)
	})
	if err != nil {
		return fail(err)
	}
	if err := writeLocal(ctx, store, local, opts.Timestamp); err != nil {
		return fail(err)
	}
	if meta.Search, err = b.Finish(); err != nil {
		return fail(err)
	}
	return meta, nil
}

// numbered has the number of a feature and its id in this build.
type numbered struct {
	number uint64
	id     uint32
}

// addNumbers writes the rows that map numbers to features. The first of several features with the
// same number counts.
func addNumbers(l *bulkload.Load, list []numbered, timestamp int64) error {
	slices.SortStableFunc(list, func(a, b numbered) int { return cmp.Compare(a.number, b.number) })
	list = slices.CompactFunc(list, func(a, b numbered) bool { return a.number == b.number })
	for _, n := range list {
		value := binary.BigEndian.AppendUint32(nil, n.id)
		if err := l.Add(numberKey(n.number), cellstore.Cell{Family: famFeature, Timestamp: timestamp, Value: value}); err != nil {
			return err
		}
	}
	return nil
}
