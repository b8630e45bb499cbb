package geoparquet

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"quadrille/internal/jsontext"
)

// within returns the range of a property in a row group, as MayPass takes it: by the folder, or by the statistics of
// the only column that can have the property.
func (p *part) within(group *format.RowGroup, name string) (low, high []byte) {
	var of *leaf
	name = property(p.columns, name)
	outer, _, dotted := strings.Cut(name, ".")
	for i := range p.columns {
		switch c := &p.columns[i]; {
		case c.spread && strings.HasPrefix(name, c.name), dotted && c.name == outer, c.name == name && (of != nil || !c.node.isFlat()):
			return nil, nil
		case c.name == name:
			of = c.node.leaf
		}
	}
	for _, v := range p.values {
		if v.name == name {
			return v.value, v.value
		}
	}
	if of == nil {
		return nil, nil
	}
	m := &group.Columns[of.index].MetaData
	if s := &m.Statistics; s.MinValue != nil && s.MaxValue != nil {
		return of.ends(s.MinValue, s.MaxValue)
	} else if s.NullCount == m.NumValues && m.NumValues == group.NumRows {
		return []byte("null"), []byte("null")
	}
	return nil, nil
}

// ends returns two values of statistics as JSON, if all values between them are between those as JSON: texts, numbers
// and booleans. Times may be written with and without fractions.
func (l *leaf) ends(least, most []byte) (low, high []byte) {
	kind := l.element.Type.V
	if kind == format.ByteArray && l.isText {
		return textEnds(least, most)
	}
	width := map[format.Type]int{format.Boolean: 1, format.Int32: 4, format.Int64: 8, format.Float: 4, format.Double: 8}[kind]
	if width == 0 || len(least) != width || len(most) != width {
		return nil, nil
	}
	low, why := l.append(nil, parquet.Kind(kind).Value(least))
	high, whyNot := l.append(nil, parquet.Kind(kind).Value(most))
	if why != "" || whyNot != "" || len(low) == 0 || len(high) == 0 || low[0] == '"' || high[0] == '"' {
		return nil, nil
	}
	from, _ := strconv.ParseFloat(string(low), 64)
	to, _ := strconv.ParseFloat(string(high), 64)
	if from > to { // some writers compare unsigned numbers as signed ones
		return nil, nil
	}
	return low, high
}

// textEnds returns the ends of texts. They end before the first byte that is not ASCII, because bytes that are not UTF-8
// become another character, which may be before or after those at the ends.
func textEnds(least, most []byte) (low, high []byte) {
	if bytes.Compare(least, most) > 0 {
		return nil, nil
	}
	isOther := func(r rune) bool { return r > '~' }
	if i := bytes.IndexFunc(least, isOther); i >= 0 {
		least = least[:i]
	}
	i := bytes.IndexFunc(most, isOther)
	if i < 0 {
		return jsontext.AppendString(nil, string(least)), jsontext.AppendString(nil, string(most))
	}
	high = jsontext.AppendString(nil, string(most[:i]))
	return jsontext.AppendString(nil, string(least)), append(high[:len(high)-1], "\xff\""...)
}
