package points

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/internal/extsort"
	"quadrille/places/internal/bulkload"
	"quadrille/places/live"
	"quadrille/quadkey"
)

// BuildOptions configure Build.
type BuildOptions struct {
	Name string // of the collection
	// Schema has the declared types of properties. The types of other properties are inferred from
	// the points.
	Schema feature.Schema
	// AllTexts is set if all properties are texts, as in tables. Properties that look like numbers,
	// booleans or times in all points get that type. [feature.Learner.OddColumns] reports those that stay
	// text because of a few values.
	AllTexts bool
	// Memory bounds the memory for sorting, in bytes. TempDir is the directory for data that does
	// not fit.
	Memory  int64
	TempDir string
	// Timestamp is the version of all points: the time of their source's last change, in
	// milliseconds since 1970.
	Timestamp int64
	// KeepLast keeps the last of several points with the same id, not the first.
	KeepLast bool
	// OnDuplicate is called with a point that is left out because another one has the
	// same id. Its error ends the build. If it is nil, duplicates are left out silently.
	OnDuplicate func(id string, line int64) error
	// OnLearned, if set, is called with the inferred properties, after all points have been read.
	OnLearned func(*feature.Learner)
	// Progress, if set, is called with the number of ids or points written so far, and their
	// total.
	Progress func(stage string, done, total int64)
}

// Build writes a collection into an empty store. The points may be in any order; line is the
// position of a point in its source. An error of the sequence ends the build. Errors match
// ErrInvalidPoint, feature.ErrProperties, feature.ErrType or live.ErrName, or come from the
// sequence or the store.
func Build(ctx context.Context, store cellstore.Store, seq iter.Seq2[Point, error], opts BuildOptions) (live.Meta, error) {
	if err := live.CheckName(opts.Name); err != nil {
		return live.Meta{}, err
	}
	b := &builder{
		opts: opts, learner: feature.NewLearner(opts.Schema),
		ids: extsort.NewBytes(opts.TempDir, opts.Memory/4), points: extsort.NewBytes(opts.TempDir, opts.Memory*3/4),
		dropped: extsort.NewBytes(opts.TempDir, opts.Memory/4), // when ids are sorted
		planter: newPlanter(), summary: newSummary(),
		meta: live.Meta{SchemaVersion: SchemaVersion, Name: opts.Name, Bounds: [4]float64{180, 90, -180, -90}},
	}
	defer func() { _ = errors.Join(b.ids.Close(), b.points.Close(), b.dropped.Close()) }() // a temporary file stays at worst
	for p, err := range seq {
		if err == nil {
			err = b.add(&p)
		}
		if err != nil {
			return live.Meta{}, err
		}
	}
	if opts.OnLearned != nil {
		opts.OnLearned(b.learner)
	}
	if err := store.CreateTable(ctx, publishedSchema()); err != nil {
		return live.Meta{}, fmt.Errorf("points: %w", err)
	}
	err := bulkload.Fill(ctx, store, tableName, func(l *bulkload.Load) error {
		if err := b.writeIDs(ctx, l); err != nil {
			return err
		}
		if err := b.writePoints(ctx, l); err != nil {
			return err
		}
		return b.writeTree(l)
	})
	if err != nil {
		return live.Meta{}, fmt.Errorf("points: %w", err)
	}
	if b.meta.Points == 0 {
		b.meta.Bounds = [4]float64{}
	}
	return b.meta, nil
}

// publishedSchema declares the table of a published collection.
func publishedSchema() cellstore.Schema {
	return cellstore.Schema{Table: tableName, Families: []cellstore.Family{{Name: famID}, {Name: famPoint}, {Name: famTree}}}
}

// builder builds one collection.
type builder struct {
	opts        BuildOptions
	learner     *feature.Learner
	ids, points *extsort.ByteSorter
	dropped     *extsort.ByteSorter // the sort keys of points whose id another point has
	planter     *planter
	summary     *summary
	meta        live.Meta

	taken uint64 // points

	key, value, properties []byte
	record                 record
}

// sortKey returns the key of a point's row with the point's number, which distinguishes points
// with the same id and position.
func (b *builder) sortKey(p position, id string, number uint64) []byte {
	b.key = appendPointKey(b.key[:0], p.key, id)
	return binary.BigEndian.AppendUint64(append(b.key, 0), number)
}

const sortTail = 9

// add adds a point.
func (b *builder) add(p *Point) error {
	if err := errors.Join(CheckID(p.ID), CheckPosition(p.Lat, p.Lon)); err != nil {
		return err
	}
	b.meta.Expiring = b.meta.Expiring || !p.Expires.IsZero()
	at, err := positionAt(p.Lat, p.Lon)
	if err != nil {
		return err
	}
	if b.properties, err = feature.AppendProperties(b.properties[:0], p.Properties); err != nil {
		return err
	}
	if b.opts.AllTexts {
		b.learner.At = p.Line
		b.learner.LearnText(b.properties)
	} else {
		b.learner.Learn(b.properties)
	}
	b.record = record{position: at, expires: live.ExpiryMillis(p.Expires), properties: b.properties}
	b.value = b.record.appendValue(b.value[:0])
	if err := b.points.Add(b.sortKey(at, p.ID, b.taken), b.value); err != nil {
		return err
	}
	b.value = binary.BigEndian.AppendUint64(b.record.appendIDValue(b.value[:0]), b.taken)
	b.value = binary.BigEndian.AppendUint64(b.value, uint64(p.Line))
	b.taken++
	return b.ids.Add([]byte(p.ID), b.value)
}

// progress reports the progress of a stage at intervals. It returns an error if the build must
// stop.
func (b *builder) progress(ctx context.Context, stage string, done int64) error {
	if done%4096 != 0 {
		return nil
	}
	if b.opts.Progress != nil {
		b.opts.Progress(stage, done, b.points.Added())
	}
	return ctx.Err()
}

// writeIDs writes the rows of ids, and finds the ids that several points have.
func (b *builder) writeIDs(ctx context.Context, l *bulkload.Load) error {
	var last, kept []byte // the previous id, and the value of its kept point
	var done int64
	write := func() error {
		b.key = append(append(b.key[:0], rowID), last...)
		return l.Add(b.key, cellstore.Cell{Family: famID, Timestamp: b.opts.Timestamp, Value: kept[:idValue]})
	}
	err := b.ids.Each(func(id, value []byte) error {
		if err := b.progress(ctx, "writing ids", done); err != nil {
			return err
		}
		if done++; kept != nil && bytes.Equal(id, last) {
			if !b.opts.KeepLast {
				return b.drop(id, value)
			}
			if err := b.drop(id, kept); err != nil {
				return err
			}
		} else if kept != nil {
			if err := write(); err != nil {
				return err
			}
		}
		last, kept = append(last[:0], id...), append(kept[:0], value...)
		return nil
	})
	if err == nil && kept != nil {
		err = write()
	}
	return err
}

// drop leaves out a point among the rows of ids.
func (b *builder) drop(id, value []byte) error {
	lat, lon := int32(binary.BigEndian.Uint32(value[8:])), int32(binary.BigEndian.Uint32(value[12:]))
	number, line := binary.BigEndian.Uint64(value[idValue:]), int64(binary.BigEndian.Uint64(value[idValue+8:]))
	if b.opts.OnDuplicate != nil {
		if err := b.opts.OnDuplicate(string(id), line); err != nil {
			return err
		}
	}
	return b.dropped.Add(b.sortKey(positionOf(lat, lon), string(id), number), nil)
}

// writePoints writes the rows of points, and makes the tree.
func (b *builder) writePoints(ctx context.Context, l *bulkload.Load) error {
	b.meta.Schema = b.learner.Schema()
	drop, stop := iter.Pull2(sorted(b.dropped))
	defer stop()
	dropped, err, some := drop()
	if err != nil {
		return err
	}
	var done int64
	return b.points.Each(func(key, value []byte) error {
		if err := b.progress(ctx, "writing points", done); err != nil {
			return err
		}
		done++
		if some && bytes.Equal(key, dropped) { // both are in order
			var err error
			dropped, err, some = drop()
			return err
		}
		b.meta.Points++
		key = key[:len(key)-sortTail]
		var err error
		if b.properties, err = b.meta.Schema.Convert(b.properties[:0], value[valueHead:]); err != nil {
			return fmt.Errorf("point %q: %w", key[keyHead:], err)
		}
		c := counted{position{
			quadkey.PointKey(binary.BigEndian.Uint64(key[1:])),
			int32(binary.BigEndian.Uint32(value[8:])), int32(binary.BigEndian.Uint32(value[12:])),
		}, b.summary.add(b.properties)}
		b.planter.add(&c)
		b.bound(c.position)
		b.value = append(append(b.value[:0], value[:valueHead]...), b.properties...)
		return l.Add(key, cellstore.Cell{Family: famPoint, Timestamp: b.opts.Timestamp, Value: b.value})
	})
}

// sorted yields the keys of a sorter, each valid until the next.
func sorted(s *extsort.ByteSorter) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		enough := errors.New("no more is wanted")
		err := s.Each(func(key, _ []byte) error {
			if !yield(key, nil) {
				return enough
			}
			return nil
		})
		if err != nil && !errors.Is(err, enough) {
			yield(nil, err)
		}
	}
}

// bound extends the bounds of the collection to include a point.
func (b *builder) bound(p position) {
	lat, lon, o := toDegrees(p.lat), toDegrees(p.lon), &b.meta.Bounds
	o[0], o[1], o[2], o[3] = math.Min(o[0], lon), math.Min(o[1], lat), math.Max(o[2], lon), math.Max(o[3], lat)
}

// writeTree writes the tree, and before it the summary of values.
func (b *builder) writeTree(l *bulkload.Load) error {
	summary, err := json.Marshal(b.summary)
	if err != nil {
		return err
	}
	add := func(row int, value []byte) error {
		key := binary.BigEndian.AppendUint32([]byte{rowTree}, uint32(row))
		return l.Add(key, cellstore.Cell{Family: famTree, Timestamp: b.opts.Timestamp, Value: value})
	}
	if err := add(0, summary); err != nil {
		return err
	}
	t := b.planter.tree
	for i := 0; i < len(t.nodes); i += treeChunk {
		if err := add(1+i/treeChunk, t.appendTo(nil, i, treeChunk)); err != nil {
			return err
		}
	}
	return nil
}
