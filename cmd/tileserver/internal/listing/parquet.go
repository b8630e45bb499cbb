package listing

import (
	"slices"
	"time"

	"quadrille/cmd/internal/geoparquet"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
)

// parquet is a table in GeoParquet, with the columns of the table in CSV but for the position, which is a
// geometry. A row group is in memory until it is full, and the footer until the end.
func init() {
	Register(&Format{
		Name: "parquet", Format: web.FormatParquet,
		Unpaged: true, Degrees: true, Doc: "GeoParquet",
		Head: beginParquet, Item: appendToParquet, Tail: endParquet,
		Memory: func(l *List) int64 { return l.memory.(*parquet).writer.Memory() },
	})
}

// groupBytes is the size of a row group, which many lists hold at once.
const groupBytes = 1 << 20

// parquet is a list that is being written. As an io.Writer it appends to out.
type parquet struct {
	layout
	writer *geoparquet.Writer
	values []feature.Value
	out    []byte

	id, of, expires, rest []byte // memory of values
}

// Write implements io.Writer.
func (p *parquet) Write(b []byte) (int, error) {
	p.out = append(p.out, b...)
	return len(b), nil
}

func beginParquet(dst []byte, l *List) []byte {
	p := &parquet{layout: layoutOf(l)}
	var own []string
	for _, f := range slices.Concat(p.before, p.behind) {
		own = append(own, f.Name)
	}
	geoparquet.Distinct(p.properties, own...)
	p.writer = geoparquet.NewWriter(p, geoparquet.Options{
		Columns: slices.Concat(p.before, p.properties, p.behind), SkipGeometry: l.Writer.SkipGeometry,
		GroupBytes: groupBytes,
	})
	l.memory = p
	return dst
}

func appendToParquet(dst []byte, l *List, f *feature.Feature, of string) ([]byte, error) {
	p := l.memory.(*parquet)
	var id feature.Value
	if f.ID != "" {
		p.id = append(p.id[:0], f.ID...)
		id = feature.TextValue(p.id)
	}
	p.values = append(p.values[:0], id)
	if l.SeveralCollections {
		p.of = append(p.of[:0], of...)
		p.values = append(p.values, feature.TextValue(p.of))
	}
	p.values = append(p.values, p.columns.ValuesOf(f.Properties)...)
	if l.Writer.WithDistance {
		p.values = append(p.values, feature.NumberValue(f.DistanceM))
	}
	if l.Writer.WithVersion {
		var expires feature.Value
		if !f.Expires.IsZero() {
			p.expires = f.Expires.UTC().AppendFormat(p.expires[:0], time.RFC3339Nano)
			expires = feature.TextValue(p.expires)
		}
		p.values = append(p.values, feature.IntegerValue(f.Version), expires)
	}
	if p.more {
		p.rest = p.columns.AppendRest(p.rest[:0], f.Properties)
		p.values = append(p.values, feature.JSONValue(p.rest))
	}
	p.out = dst
	err := p.writer.Write(f, p.values)
	return p.out, err
}

// endParquet writes the footer, which cannot fail: nothing does that is written to memory. Without it
// no reader would take the file.
func endParquet(dst []byte, l *List, _ string) []byte {
	p := l.memory.(*parquet)
	p.out = dst
	if p.writer.Close() != nil {
		return dst
	}
	return p.out
}
