package recipes

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"quadrille/cellstore"
)

// Series keeps what metrics measured, an hour of one series to a row:
//
//	tsdb   row: metric (3) | hour base (4) | tag key (3) | tag value (3) | …
//	       │
//	       └─ t : seconds after the hour base, shifted by four, | kind (2) → value (8)
//
// The hour base is the second since 1970 at which the hour begins. Numbers are
// big-endian, so a span of time of one metric is one range of rows, with all
// its series side by side, and the points of an hour are sorted in their row.
// The low four bits of the qualifier say how the value is written; 7 is an
// integer of 8 bytes. The names are short ids (see [IDs]), since a key is
// repeated in every cell.
//
// Tags stand behind the time: a tag filter reads every series of the span and
// leaves out those that do not match. A metric mostly asked for one tag ought
// to have it in its name.
//
// Series may be used by any number of goroutines.
type Series struct{ table cellstore.Table }

// Tag is a tag key and its value, as ids.
type Tag struct{ Key, Value ID }

// Point is what was measured at a second since 1970.
type Point struct{ Second, Value int64 }

// TagPoints are the points of one series, the earliest first.
type TagPoints struct {
	Tags   []Tag // sorted by key
	Points []Point
}

const (
	hourSeconds = 3600
	integer8    = 7
	seriesHead  = len(ID{}) + 4 // metric and hour base
)

// OpenSeries opens the table tsdb.
func OpenSeries(ctx context.Context, s cellstore.Store) (*Series, error) {
	t, err := s.Table(ctx, "tsdb")
	return &Series{t}, err
}

func seriesKey(metric ID, second int64, tags ...Tag) []byte {
	key := binary.BigEndian.AppendUint32(metric[:], uint32(second-second%hourSeconds))
	for _, t := range tags {
		key = append(append(key, t.Key[:]...), t.Value[:]...)
	}
	return key
}

// Add writes a point of the series of a metric with these tags, in any order.
// A second has one value, the one written last. It may be repeated after a
// failure.
func (s *Series) Add(ctx context.Context, metric ID, p Point, tags ...Tag) error {
	if p.Second < 0 || p.Second>>32 != 0 {
		return fmt.Errorf("point at second %d: pass seconds since 1970, less than 2^32", p.Second)
	}
	tags = slices.SortedFunc(slices.Values(tags), func(a, b Tag) int { return slices.Compare(a.Key[:], b.Key[:]) })
	qualifier := binary.BigEndian.AppendUint16(nil, uint16(p.Second%hourSeconds<<4|integer8))
	return s.table.Apply(ctx, cellstore.Mutation{
		Row:        seriesKey(metric, p.Second, tags...),
		Ops:        []cellstore.Op{cellstore.Put("t", qualifier, binary.BigEndian.AppendUint64(nil, uint64(p.Value)))},
		Durability: cellstore.Async,
	})
}

// Read returns the series of a metric that have all tags of the filter, with
// their points of from ≤ second < to, sorted by their tags. Without a filter
// it returns all of them.
func (s *Series) Read(ctx context.Context, metric ID, from, to int64, filter ...Tag) ([]TagPoints, error) {
	from, to = max(from, 0), min(to, 1<<32)
	if from >= to {
		return nil, nil
	}
	span := cellstore.Range{
		From: seriesKey(metric, from),
		To:   cellstore.PrefixEnd(seriesKey(metric, to-1)), // after the whole of the last hour
	}
	byTags := map[string]*TagPoints{}
	for row, err := range s.table.Scan(ctx, cellstore.Scan{Ranges: []cellstore.Range{span}}) {
		if err != nil {
			return nil, err
		}
		tags, err := tagsOf(row.Key)
		if err != nil {
			return nil, err
		}
		if !hasAll(tags, filter) {
			continue
		}
		base := int64(binary.BigEndian.Uint32(row.Key[len(ID{}):]))
		name := string(row.Key[seriesHead:])
		for _, c := range row.Cells {
			value, err := counter(c.Value)
			if err != nil || len(c.Qualifier) != 2 {
				return nil, fmt.Errorf("%w: row %x has no integer at %x", cellstore.ErrCorrupt, row.Key, c.Qualifier)
			}
			second := base + int64(binary.BigEndian.Uint16(c.Qualifier)>>4)
			if second < from || second >= to {
				continue
			}
			if byTags[name] == nil {
				byTags[name] = &TagPoints{Tags: tags}
			}
			byTags[name].Points = append(byTags[name].Points, Point{second, value})
		}
	}
	var out []TagPoints
	for _, name := range slices.SortedFunc(maps.Keys(byTags), strings.Compare) {
		out = append(out, *byTags[name])
	}
	return out, nil
}

func tagsOf(key []byte) ([]Tag, error) {
	const pair = 2 * len(ID{})
	if len(key) < seriesHead || (len(key)-seriesHead)%pair != 0 {
		return nil, fmt.Errorf("%w: series key %x has %d bytes", cellstore.ErrCorrupt, key, len(key))
	}
	var tags []Tag
	for t := range slices.Chunk(key[seriesHead:], pair) {
		tags = append(tags, Tag{ID(t), ID(t[len(ID{}):])})
	}
	return tags, nil
}

func hasAll(tags, filter []Tag) bool {
	for _, want := range filter {
		if !slices.Contains(tags, want) {
			return false
		}
	}
	return true
}

// Sum makes one series of several: at every second that any of them has a
// point, the sum of the points they have there. Nothing is made up between
// points, so series are best written at the same seconds.
func Sum(series []TagPoints) []Point {
	sums := map[int64]int64{}
	for _, s := range series {
		for _, p := range s.Points {
			sums[p.Second] += p.Value
		}
	}
	var out []Point
	for second, value := range sums {
		out = append(out, Point{second, value})
	}
	slices.SortFunc(out, func(a, b Point) int { return cmp.Compare(a.Second, b.Second) })
	return out
}

func checkSeries(ctx context.Context, store cellstore.Store, _ *Clock) error {
	s, err := OpenSeries(ctx, store)
	if err != nil {
		return err
	}
	const hour = 0x4d049d20 // 2010-12-12 10:00 UTC, and so on
	sent, other := ID{0, 0, 1}, ID{0, 0, 2}
	host, disk := ID{0, 0, 2}, ID{0, 0, 5}
	web, db := Tag{host, ID{0, 0, 3}}, Tag{host, ID{0, 0, 4}}
	ssd := Tag{disk, ID{0, 0, 1}}
	for _, p := range []struct {
		metric ID
		after  int64
		value  int64
		tags   []Tag
	}{
		{sent, 123, 476, []Tag{web}},
		{sent, 3599, 480, []Tag{web}},
		{sent, 0, 470, []Tag{web}},
		{sent, 3600, 490, []Tag{web}},
		{sent, 123, -6, []Tag{ssd, db}}, // tags in any order
		{sent, 3600, 10, []Tag{db, ssd}},
		{sent, 7200, 1, []Tag{db, ssd}},
		{sent, -1, 7, nil},
		{other, 123, 1, []Tag{web}},
		{sent, 0, 471, []Tag{web}}, // written again
	} {
		if err := s.Add(ctx, p.metric, Point{hour + p.after, p.value}, p.tags...); err != nil {
			return err
		}
	}
	// The layout is the one drawn.
	var row cellstore.Row
	if _, err := s.table.Get(ctx, []byte("\x00\x00\x01\x4d\x04\x9d\x20\x00\x00\x02\x00\x00\x03"), nil, &row); err != nil {
		return err
	}
	value, _ := row.Value("t", []byte{0x07, 0xb7})
	if err := expect("the cell of second 123", value, []byte{0, 0, 0, 0, 0, 0, 0x01, 0xdc}); err != nil {
		return err
	}
	if err := expect("cells of the hour", len(row.Cells), 3); err != nil {
		return err
	}
	for _, q := range []struct {
		what     string
		from, to int64
		filter   []Tag
		want     []TagPoints
		sum      []Point
	}{
		{"one host", 0, 3601, []Tag{web},
			[]TagPoints{{[]Tag{web}, []Point{{hour, 471}, {hour + 123, 476}, {hour + 3599, 480}, {hour + 3600, 490}}}},
			[]Point{{hour, 471}, {hour + 123, 476}, {hour + 3599, 480}, {hour + 3600, 490}}},
		{"all hosts, cut at both ends", 1, 3600, nil,
			[]TagPoints{{[]Tag{web}, []Point{{hour + 123, 476}, {hour + 3599, 480}}}, {[]Tag{db, ssd}, []Point{{hour + 123, -6}}}},
			[]Point{{hour + 123, 470}, {hour + 3599, 480}}},
		{"two tags", 3600, 7201, []Tag{ssd, db},
			[]TagPoints{{[]Tag{db, ssd}, []Point{{hour + 3600, 10}, {hour + 7200, 1}}}},
			[]Point{{hour + 3600, 10}, {hour + 7200, 1}}},
		{"no tags", -1, 0, nil, []TagPoints{{nil, []Point{{hour - 1, 7}}}}, []Point{{hour - 1, 7}}},
		{"a host with another's disk", 0, 7201, []Tag{web, ssd}, nil, nil},
		{"nothing yet", -7200, -3600, nil, nil, nil},
		{"an empty span", 123, 123, nil, nil, nil},
	} {
		got, err := s.Read(ctx, sent, hour+q.from, hour+q.to, q.filter...)
		if err != nil {
			return err
		}
		if err := expect(q.what, got, q.want); err != nil {
			return err
		}
		if err := expect(q.what+", summed", Sum(got), q.sum); err != nil {
			return err
		}
	}
	return nil
}
