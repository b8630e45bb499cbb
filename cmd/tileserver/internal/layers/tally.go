package layers

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"quadrille/ask"
	"quadrille/ask/tally"
	"quadrille/cmd/internal/csvcell"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/internal/jsontext"
	"quadrille/quadkey"
)

// maxGroups bounds the groups of an answer.
const maxGroups = 50_000

// These are the parameters of tallies.
var (
	byParam = listing.PropertiesParam("by", "Groups to count, one or two with a comma between them: a property, such as `category`; "+
		"a type of regions or another layer of areas, such as `state`, of which the smallest that holds a point counts; or `tile:` and a "+
		"zoom, such as `tile:8`. An area comes before a property of its name, and `p.` before a name says that it is a property's.").
		WithExample([]string{"category"})
	tallyLimitParam = endpoint.Integer("limit", 1, maxGroups,
		"Most groups, those with the most points first; `others` tells of the rest.").WithDefault(1000)
	tallyFormParam = endpoint.Word("format", "Form of an answer with groups or measures: csv is a table of the groups.", "json", "csv").WithDefault("json")
	measureParams  = []*endpoint.Value[[]string]{
		measureParam(feature.OpSum, "Properties whose sums to tell, of integers exactly."),
		measureParam(feature.OpMean, "Properties whose means to tell."),
		measureParam(feature.OpMin, "Properties of numbers or times whose least value to tell."),
		measureParam(feature.OpMax, "Properties of numbers or times whose greatest value to tell."),
		measureParam(feature.OpDistinct, "Properties whose different values to count."),
	}
)

func measureParam(op, doc string) *endpoint.Value[[]string] {
	return listing.PropertiesParam(op, doc+" Values that are absent or null do not count.").WithExample([]string{"price"})
}

// tallyParams returns the parameters of tallies.
func tallyParams() []endpoint.Param {
	list := []endpoint.Param{byParam}
	for _, p := range measureParams {
		list = append(list, p)
	}
	return append(list, tallyLimitParam, tallyFormParam)
}

// readTally reads what to tally, or returns nil for a plain count. It adds the generations that
// draw areas to those of the answer.
func (q *question) readTally(p *endpoint.Params) (*tallied, error) {
	t := &tallied{limit: int(tallyLimitParam.Of(p)), csv: tallyFormParam.Of(p) == "csv"}
	by := byParam.Of(p)
	if len(by) > feature.MaxGroupings {
		p.Refuse(byParam.Name, "Group by one or two.")
	}
	var measures [][]string
	for _, m := range measureParams {
		measures = append(measures, m.Of(p))
	}
	if p.Err != nil {
		return nil, p.Err
	}
	for _, name := range by {
		g, column, err := q.grouping(name)
		if err != nil {
			return nil, err
		}
		if slices.Contains(t.columns, column) {
			return nil, endpoint.Refuse(endpoint.ErrParameter, byParam.Name, "Name each group once.")
		}
		t.By, t.columns = append(t.By, g), append(t.columns, column)
	}
	for i, names := range measures {
		for _, name := range names {
			name = strings.TrimPrefix(name, feature.PropertyPrefix)
			if err := q.checkMeasure(measureParams[i].Name, name); err != nil {
				return nil, err
			}
			t.Measures = append(t.Measures, feature.Measure{Op: measureParams[i].Name, Property: name})
		}
	}
	if t.By == nil && t.Measures == nil && !t.csv {
		return nil, nil
	}
	return t, nil
}

// grouping returns the grouping with a name of the parameter by, and the name of its column.
func (q *question) grouping(name string) (g feature.Grouping, column string, err error) {
	if text, ok := strings.CutPrefix(name, "tile:"); ok {
		zoom, err := strconv.ParseUint(text, 10, 8)
		if err != nil || zoom > quadkey.MaxZoom {
			return g, "", endpoint.Refuse(endpoint.ErrParameter, byParam.Name, "Write tiles as tile: and a zoom from 0 to 22, such as tile:8.")
		}
		return feature.Grouping{Place: feature.TilePlacer(uint8(zoom))}, "tile", nil
	}
	property, forced := strings.CutPrefix(name, feature.PropertyPrefix)
	if !forced {
		ground, err := q.view.Ground(name)
		switch {
		case err == nil && ground.Has(name):
			if q.from != nil {
				if ids := ground.GenerationIDs(name); ids != nil {
					q.from = append(q.from, ids...)
				} else {
					q.from = nil
				}
			}
			g.Place, err = tally.ByArea(q.view, name)
			return g, name, err
		case err != nil && !errors.Is(err, ask.ErrMissing):
			return g, "", err
		}
	}
	for i := range q.asked {
		if _, ok := q.asked[i].LayerInfo.Schema.LookupPath(property); !ok {
			detail := endpoint.DetailOf(q.noProperty(byParam.Name, property))
			if all, err := q.view.Ground(); err == nil && !forced {
				detail += " Of areas there are " + strings.Join(all.Types(), ", ") + "."
			}
			return g, "", endpoint.Refuse(endpoint.ErrParameter, byParam.Name, detail)
		}
	}
	return feature.Grouping{Property: property}, property, nil
}

// checkMeasure returns an error unless all layers have a property that can be measured.
func (q *question) checkMeasure(op, name string) error {
	for i := range q.asked {
		field, ok := q.asked[i].LayerInfo.Schema.LookupPath(name)
		if !ok {
			return q.noProperty(op, name)
		}
		switch field.Kind {
		case feature.Number, feature.Integer, feature.Any:
			continue
		case feature.Time:
			if op == feature.OpMin || op == feature.OpMax {
				continue
			}
		}
		if op != feature.OpDistinct {
			return endpoint.Refuse(endpoint.ErrParameter, op, "The "+op+" is of numbers, and "+endpoint.Printable(name)+" is "+field.Kind.String()+
				": name another property, or count its values with distinct.")
		}
	}
	return nil
}

// tallied is a tally in an answer.
type tallied struct {
	feature.Tally
	columns []string // of the groupings
	limit   int
	csv     bool
}

// format returns the format of the answer.
func (t *tallied) format() web.Format {
	if t != nil && t.csv {
		return web.FormatCSV
	}
	return web.FormatJSON
}

// begin begins the tally of the layers.
func (t *tallied) begin(q *question) *feature.Tallying {
	if t == nil {
		return nil
	}
	var schema feature.Schema
	for i := range q.asked {
		schema = schema.Merge(q.asked[i].LayerInfo.Schema)
	}
	return t.Begin(schema)
}

// count counts the features of a layer, and adds them to a tally if there is one.
func (a *asked) count(ctx context.Context, q *feature.Query, to *feature.Tallying) (int64, error) {
	if to == nil {
		return a.Count(ctx, q)
	}
	before := to.Len()
	err := to.Run(ctx, a.Layer.Layer, q)
	return to.Len() - before, err
}

// append appends the members of an answer that tell the groups and measures.
func (t *tallied) append(dst []byte, all *feature.Totals) []byte {
	if len(t.By) == 0 {
		dst = t.appendMeasures(dst, all.Groups[0].Measures)
	} else {
		dst = append(dst, `,"groups":[`...)
		for i := range all.Groups {
			g := &all.Groups[i]
			dst = append(jsontext.Next(dst), `{"group":{`...)
			for k, value := range g.Values {
				dst = appendMember(dst, t.columns[k], value)
				if g.Names[k] != "" {
					dst = jsontext.AppendString(append(jsontext.AppendString(append(dst, ','), t.columns[k]+"_name"), ':'), g.Names[k])
				}
			}
			dst = strconv.AppendInt(append(dst, `},"count":`...), g.Count, 10)
			dst = append(t.appendMeasures(dst, g.Measures), '}')
		}
		dst = append(dst, ']')
	}
	if all.OtherGroups > 0 {
		dst = strconv.AppendInt(append(dst, `,"others":{"groups":`...), all.OtherGroups, 10)
		dst = append(strconv.AppendInt(append(dst, `,"count":`...), all.OtherCount, 10), '}')
	}
	skipped := false
	for i, n := range all.Skipped {
		if n > 0 {
			if !skipped {
				dst, skipped = append(dst, `,"skipped":{`...), true
			}
			dst = appendMember(dst, all.Properties[i], strconv.AppendInt(nil, n, 10))
		}
	}
	if skipped {
		dst = append(dst, '}')
	}
	return dst
}

// appendMember appends a member with a value, nil for null.
func appendMember(dst []byte, name string, value []byte) []byte {
	dst = append(jsontext.AppendString(jsontext.Next(dst), name), ':')
	if value == nil {
		return append(dst, "null"...)
	}
	return append(dst, value...)
}

// appendMeasures appends an object for each operation, with its properties.
func (t *tallied) appendMeasures(dst []byte, values [][]byte) []byte {
	op := ""
	for i, m := range t.Measures {
		if m.Op != op {
			if op != "" {
				dst = append(dst, '}')
			}
			op = m.Op
			dst = append(append(append(dst, `,"`...), op...), `":{`...)
		}
		dst = appendMember(dst, m.Property, values[i])
	}
	if op != "" {
		dst = append(dst, '}')
	}
	return dst
}

// appendTable appends the groups as a table. A last row tells of groups beyond the limit.
func (t *tallied) appendTable(dst []byte, all *feature.Totals) []byte {
	cell := func(text string) { dst = append(csvcell.AppendForeign(dst, ',', []byte(text)), ',') }
	end := func() { dst = append(dst[:len(dst)-1], "\r\n"...) }
	named := make([]bool, len(t.By))
	for k, column := range t.columns {
		cell(column)
		if _, named[k] = t.By[k].Place.(feature.NamedPlacer); named[k] {
			cell(column + "_name")
		}
	}
	cell("count")
	for _, m := range t.Measures {
		cell(m.Op + "_" + m.Property)
	}
	end()
	for i := range all.Groups {
		g := &all.Groups[i]
		for k, value := range g.Values {
			cell(string(feature.JSONValue(value).AppendText(nil)))
			if named[k] {
				cell(g.Names[k])
			}
		}
		cell(strconv.FormatInt(g.Count, 10))
		for _, value := range g.Measures {
			cell(string(feature.JSONValue(value).AppendText(nil)))
		}
		end()
	}
	if all.OtherGroups > 0 {
		cell("(" + strconv.FormatInt(all.OtherGroups, 10) + " others)")
		for k := range t.By {
			if k > 0 {
				cell("")
			}
			if named[k] {
				cell("")
			}
		}
		cell(strconv.FormatInt(all.OtherCount, 10))
		for range t.Measures {
			cell("")
		}
		end()
	}
	return dst
}
