package live

import (
	"bytes"
	"context"
	"encoding/json"

	"quadrille/cellstore"
	"quadrille/feature"
)

// OpenTable opens the table of a collection while nothing writes to it, after it has checked the
// rows outside the index. The error matches cellstore.ErrCorrupt if the description is missing.
func (k *Kind) OpenTable(ctx context.Context, store cellstore.Store, name string) (cellstore.Table, error) {
	table, err := store.Table(ctx, k.Table(name))
	if err != nil {
		return nil, wrap(err)
	}
	if _, err = readDescription(ctx, table, k); err == nil {
		_, err = k.OpenLog(table).End(ctx)
	}
	return table, err
}

// WidestSchema declares a table for any content of a collection: any number of versions, and events
// of the longest time.
func (k *Kind) WidestSchema(name string) cellstore.Schema {
	return k.Schema(&Meta{Name: name, HistoryRetention: MaxHistory, EventRetention: MaxHistory})
}

// RowKind is the kind of a row with respect to a TableLog or a Collection.
type RowKind uint8

const (
	RowOfIndex    RowKind = iota // belongs to the index
	RowKept                      // stays unchanged
	RowRemade                    // Salvage writes it again
	RowUnreadable                // is unreadable
)

// Salvage is the readable part of a damaged collection, without its index.
type Salvage struct {
	// DescriptionLost is set if the description is lost. In that case the collection is treated as private.
	DescriptionLost bool

	kind *Kind
	name string
	meta *description
	rest map[string][]byte // rows of the family meta
	end  LogEnd
}

// NewSalvage returns an empty Salvage.
func NewSalvage(kind *Kind, name string) *Salvage {
	return &Salvage{kind: kind, name: name, rest: map[string][]byte{}}
}

// KindOfRow returns the kind of a row.
func KindOfRow(row *cellstore.Row) RowKind {
	switch row.Key[0] {
	case rowDescription, rowEnd:
		return RowRemade
	case rowEvent:
		if new(Event).parse(row) {
			return RowKept
		}
		return RowUnreadable
	}
	return RowOfIndex
}

// Add adds a row outside the index. It refuses another layout, which is not damage.
func (s *Salvage) Add(row *cellstore.Row) error {
	value := row.Cells[0].Value
	var e Event
	var end LogEnd
	switch m := (&description{}); {
	case row.Key[0] == rowEnd:
	case row.Key[0] == rowEvent:
		if e.parse(row) {
			s.end.Seq = max(s.end.Seq, e.Seq)
		}
	case len(row.Key) == 1:
		if json.Unmarshal(value, m) == nil && m.Name == s.name { // otherwise it is damaged
			if err := s.kind.checkLayout(&m.Meta); err != nil {
				return err
			}
			s.meta = m
		}
	case bytes.Equal(row.Key, endRow):
		if end.parse(value) {
			s.end.Seq = max(s.end.Seq, end.Seq)
			s.RaiseVersion(end.Floor)
		}
	default:
		s.rest[string(row.Key)] = bytes.Clone(value)
	}
	return nil
}

// RaiseVersion records a version of a feature, so that later versions are greater.
func (s *Salvage) RaiseVersion(version int64) { s.end.Floor = max(s.end.Floor, version) }

// Learner returns a Learner that begins with the types of the description. Call it after all rows.
func (s *Salvage) Learner() (*feature.Learner, error) {
	if s.DescriptionLost = s.meta == nil; s.DescriptionLost {
		s.meta = &description{Meta: Meta{SchemaVersion: s.kind.Version, Name: s.name, Private: true}}
		if err := checkMeta(&s.meta.Meta); err != nil {
			return nil, err
		}
	}
	learner := feature.NewLearner(s.meta.Declared)
	learner.AddSchema(s.meta.Schema)
	return learner, nil
}

// Finish writes everything outside the index. The index must be complete. The collection then
// exists.
func (s *Salvage) Finish(ctx context.Context, store cellstore.Store, table cellstore.Table, learner *feature.Learner) error {
	s.meta.Schema = learner.Schema()
	if err := store.AlterTable(ctx, s.kind.Schema(&s.meta.Meta)); err != nil {
		return wrap(err)
	}
	s.end.Step = 1
	last := []cellstore.Mutation{metaRow(endRow, s.end.append(nil))}
	for key, value := range s.rest {
		last = append(last, metaRow([]byte(key), value))
	}
	return wrap(table.Apply(ctx, append(last, s.meta.mutation())...))
}
