package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"quadrille/cellstore"
)

// series stores the values of metrics, with one row for an hour of one series:
//
//	tsdb   row: metric (3) | hour base (4) | tag key (3) | tag value (3) | …
//	       │
//	       └─ t : seconds after the hour base, shifted by four, | kind (2) → value (8)
//
// The hour base is the second since 1970 at which the hour begins. Numbers are big-endian, so a
// span of time of one metric is one range of rows with all its series, and the points of an hour
// are sorted in their row. The low four bits of the qualifier give the type of the value; 7 is an
// integer of 8 bytes. Metrics and tags are short ids, see [ids], because a key is repeated in every
// cell.
//
// Tags come after the time, so a query with a tag filter reads every series of the span and skips
// those that do not match. If a metric is mostly queried by one tag, the tag should be part of its
// name.
type series struct{ table cellstore.Table }

const (
	hour       = 3600
	integer8   = 7
	seriesHead = 3 + 4 // metric and hour base
)

func seriesKey(metric string, second int64, tags ...string) string {
	base := binary.BigEndian.AppendUint32(nil, uint32(second-second%hour))
	return metric + string(base) + strings.Join(tags, "")
}

// add writes a point of the series with these tags, in any order. Each tag is the id of its key and
// the id of its value. A second has one value, the last one written. Seconds are of 0 to 2^32-1. It
// may be repeated after a failure.
func (s series) add(ctx context.Context, metric string, second, v int64, tags ...string) error {
	qualifier := binary.BigEndian.AppendUint16(nil, uint16(second%hour<<4|integer8))
	return s.table.Apply(ctx, cellstore.Mutation{
		Row:        []byte(seriesKey(metric, second, slices.Sorted(slices.Values(tags))...)),
		Ops:        []cellstore.Op{cellstore.Put("t", qualifier, number(v))},
		Durability: cellstore.Async,
	})
}

// read returns the points with from ≤ second < to of every series that has all tags of the filter.
// The result is a map by the tags of the series, and then by second.
func (s series) read(ctx context.Context, metric string, from, to int64, filter ...string) (map[string]map[int64]int64, error) {
	span := cellstore.Range{
		From: []byte(seriesKey(metric, from)),
		To:   cellstore.PrefixEnd([]byte(seriesKey(metric, to-1))), // after the whole of the last hour
	}
	found := map[string]map[int64]int64{}
	for row, err := range s.table.Scan(ctx, cellstore.Scan{Ranges: []cellstore.Range{span}}) {
		if err != nil {
			return nil, err
		}
		name := string(row.Key[seriesHead:])
		var tags []string
		for tag := range slices.Chunk(row.Key[seriesHead:], 6) {
			tags = append(tags, string(tag))
		}
		if slices.ContainsFunc(filter, func(tag string) bool { return !slices.Contains(tags, tag) }) {
			continue
		}
		base := int64(binary.BigEndian.Uint32(row.Key[3:]))
		for _, c := range row.Cells {
			second := base + int64(binary.BigEndian.Uint16(c.Qualifier)>>4)
			if second < from || second >= to {
				continue
			}
			if found[name] == nil {
				found[name] = map[int64]int64{}
			}
			found[name][second] = count(c.Value)
		}
	}
	return found, nil
}

// sum adds several series to one. It does not interpolate between points, so series should be
// written at the same seconds.
func sum(all map[string]map[int64]int64) map[int64]int64 {
	sums := map[int64]int64{}
	for points := range maps.Values(all) {
		for second, v := range points {
			sums[second] += v
		}
	}
	return sums
}

func playSeries(d *demo) {
	s := series{d.table("tsdb", cellstore.Family{Name: "t"})}
	const (
		start       = 0x4d049d20 // 2010-12-12 10:00 UTC
		sent, other = "\x00\x00\x01", "\x00\x00\x02"
		web, db     = "\x00\x00\x02\x00\x00\x03", "\x00\x00\x02\x00\x00\x04" // host=3, host=4
		ssd         = "\x00\x00\x05\x00\x00\x01"                             // disk=1
	)
	for _, p := range []struct {
		metric   string
		after, v int64
		tags     []string
	}{
		{sent, 123, 476, []string{web}},
		{sent, 3599, 480, []string{web}},
		{sent, 0, 470, []string{web}},
		{sent, 3600, 490, []string{web}},
		{sent, 123, -6, []string{ssd, db}}, // tags in any order
		{sent, 3600, 10, []string{db, ssd}},
		{sent, 7200, 1, []string{db, ssd}},
		{sent, -1, 7, nil},
		{other, 123, 1, []string{web}},
		{sent, 0, 471, []string{web}}, // written again
	} {
		ok(s.add(d.ctx, p.metric, start+p.after, p.v, p.tags...))
	}
	var row cellstore.Row
	must(s.table.Get(d.ctx, []byte(sent+"\x4d\x04\x9d\x20"+web), nil, &row))
	for _, c := range row.Cells {
		d.print(fmt.Sprintf("row %x, column t:%x", row.Key, c.Qualifier), count(c.Value))
	}
	for _, q := range []struct {
		what     string
		from, to int64
		filter   []string
	}{
		{"one host", 0, 3601, []string{web}},
		{"all hosts, cut at both ends", 1, 3600, nil},
		{"two tags", 3600, 7201, []string{ssd, db}},
		{"no tags", -1, 0, nil},
		{"a host with another's disk", 0, 7201, []string{web, ssd}},
		{"before the first", -7200, -3600, nil},
	} {
		found := must(s.read(d.ctx, sent, start+q.from, start+q.to, q.filter...))
		for _, tags := range slices.Sorted(maps.Keys(found)) {
			d.print(fmt.Sprintf("%s, series %x", q.what, tags), found[tags])
		}
		d.print(q.what+", sum", sum(found))
	}
}
