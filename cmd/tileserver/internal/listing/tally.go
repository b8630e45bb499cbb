package listing

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/ask/tally"
	"quadrille/cmd/internal/csvcell"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/internal/jsontext"
	"quadrille/quadkey"
)

// maxGroups bounds the groups of an answer.
const maxGroups = 50_000

// These are the parameters of tallies.
var (
	byParam = PropertiesParam("by", "Groups to count, one or two with a comma between them: a property, such as `category`; "+
		"a type of regions or another layer of areas, such as `state`, of which the smallest that holds a point counts; or `tile:` and a "+
		"zoom, such as `tile:8`. An area comes before a property of its name, and `p.` before a name says that it is a property's.").
		WithExample([]string{"category"})
	tallyLimitParam = endpoint.Integer("limit", 1, maxGroups,
		"Most groups, those with the most points first; `others` tells of the rest.").WithDefault(1000)
	measureParams = []*endpoint.Value[[]string]{
		measureParam(feature.OpSum, "Properties whose sums to tell, of integers exactly."),
		measureParam(feature.OpMean, "Properties whose means to tell."),
		measureParam(feature.OpMin, "Properties of numbers or times whose least value to tell."),
		measureParam(feature.OpMax, "Properties of numbers or times whose greatest value to tell."),
		measureParam(feature.OpDistinct, "Properties whose different values to count."),
	}
)

func measureParam(op, doc string) *endpoint.Value[[]string] {
	return PropertiesParam(op, doc+" Values that are absent or null do not count.").WithExample([]string{"price"})
}

// CountForm is the parameter for the form of a count, one of CountFormats.
var CountForm = endpoint.Word("format", CountFormDoc, "json", "csv", "geojson").WithDefault("json")

// CountFormDoc describes the forms.
const CountFormDoc = "Form of the answer: csv is a table of the groups; geojson has a Feature for each, with the tile or the region of " +
	"the first group that is one, as whole as lists of regions have it. From 16 MiB on, which `without_geometry` counts, they have none."

// CountFormats has the forms by their names.
var CountFormats = map[string]web.Format{"json": web.FormatJSON, "csv": web.FormatCSV, "geojson": web.FormatGeoJSON}

// CountContent describes the answers.
var CountContent = endpoint.Content{"application/json": Count{}, "text/csv": nil, "application/geo+json": CountFeatures{}}

// TallyParams returns the parameters of tallies, without that of the form.
func TallyParams() []endpoint.Param {
	list := []endpoint.Param{byParam}
	for _, p := range measureParams {
		list = append(list, p)
	}
	return append(list, tallyLimitParam)
}

// Counted is a layer whose features are counted, if they pass a filter.
type Counted struct {
	*ask.Layer
	Name   string
	Filter feature.Filter
}

// Tally is what a request asks of the features of layers: their number in groups, and measures.
type Tally struct {
	feature.Tally
	of      []Counted
	listed  string   // the path that lists the properties, "" for none
	columns []string // of the groupings
	limit   int
	form    web.Format
	from    []uint64 // the generations that draw areas; nil if an answer must not be cached
}

// ReadTally reads what to tell of layers in a form. listed is the path that lists their properties, "" for none. The
// result is only a plain count if the request asks for no more.
func ReadTally(p *endpoint.Params, of []Counted, listed string, form web.Format) (*Tally, error) {
	t := &Tally{of: of, listed: listed, limit: int(tallyLimitParam.Of(p)), form: form, from: []uint64{}}
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
		g, column, err := t.grouping(p.View(), name)
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
			if err := t.checkMeasure(measureParams[i].Name, name); err != nil {
				return nil, err
			}
			t.Measures = append(t.Measures, feature.Measure{Op: measureParams[i].Name, Property: name})
		}
	}
	return t, nil
}

// plain reports whether the number of features is all that is asked.
func (t *Tally) plain() bool { return t.By == nil && t.Measures == nil && t.form == web.FormatJSON }

// AppendGenerationIDs appends the generations that define the groups to the generations of an answer. It returns nil if
// the answer may not be cached.
func (t *Tally) AppendGenerationIDs(ids []uint64) []uint64 {
	if ids == nil || t.from == nil {
		return nil
	}
	return append(ids, t.from...)
}

// tallies has a place for each tally that is being made, because each may take much memory.
var tallies = make(chan struct{}, max(2, runtime.GOMAXPROCS(0)))

// Admit waits for a place, if more than a plain count is asked. The caller releases it.
func (t *Tally) Admit(c echo.Context, patience time.Duration) (release func(), err error) {
	if t.plain() {
		return func() {}, nil
	}
	select {
	case tallies <- struct{}{}:
		return func() { <-tallies }, nil
	case <-time.After(patience):
		return nil, web.ErrBusy
	case <-c.Request().Context().Done():
		return nil, c.Request().Context().Err()
	}
}

// Append appends the answer about the features that a query selects. The query has no filter.
func (t *Tally) Append(ctx context.Context, dst []byte, q feature.Query) ([]byte, error) {
	var to *feature.Tallying
	if !t.plain() {
		var schema feature.Schema
		for i := range t.of {
			schema = schema.Merge(t.of[i].LayerInfo.Schema)
		}
		to = t.Begin(schema)
	}
	counts := make([]int64, len(t.of))
	sum := int64(0)
	for i := range t.of {
		of := &t.of[i]
		q.Filter = of.Filter
		var err error
		if to == nil {
			counts[i], err = of.Count(ctx, &q)
		} else {
			before := to.Len()
			err = to.Run(ctx, of.Layer.Layer, &q)
			counts[i] = to.Len() - before
		}
		if err != nil {
			return dst, err
		}
		sum += counts[i]
	}
	if t.form == web.FormatCSV {
		return t.appendTable(dst, to.Totals(t.limit)), nil
	}
	head := strconv.AppendInt([]byte(`"count":`), sum, 10)
	if len(counts) > 1 {
		head = append(head, `,"collections":{`...)
		for i, n := range counts {
			head = strconv.AppendInt(append(jsontext.AppendString(jsontext.Next(head), t.of[i].Name), ':'), n, 10)
		}
		head = append(head, '}')
	}
	switch {
	case to == nil:
	case t.form == web.FormatGeoJSON:
		return t.appendFeatures(ctx, dst, head, to.Totals(t.limit), q.Step)
	default:
		head = t.append(head, to.Totals(t.limit))
	}
	return append(append(append(dst, '{'), head...), '}'), nil
}

// grouping returns the grouping with a name of the parameter by, and the name of its column.
func (t *Tally) grouping(v ask.View, name string) (g feature.Grouping, column string, err error) {
	if text, ok := strings.CutPrefix(name, "tile:"); ok {
		zoom, err := strconv.ParseUint(text, 10, 8)
		if err != nil || zoom > quadkey.MaxZoom {
			return g, "", endpoint.Refuse(endpoint.ErrParameter, byParam.Name, "Write tiles as tile: and a zoom from 0 to 22, such as tile:8.")
		}
		if err := t.checkPoints(name); err != nil {
			return g, "", err
		}
		return feature.Grouping{Place: feature.TilePlacer(uint8(zoom))}, "tile", nil
	}
	property, forced := strings.CutPrefix(name, feature.PropertyPrefix)
	if !forced {
		ground, err := v.Ground(name)
		switch {
		case err == nil && ground.Has(name):
			if err := t.checkPoints(name); err != nil {
				return g, "", err
			}
			if ids := ground.GenerationIDs(name); ids != nil && t.from != nil {
				t.from = append(t.from, ids...)
			} else {
				t.from = nil
			}
			g.Place, err = tally.ByArea(v, name)
			return g, name, err
		case err != nil && !errors.Is(err, ask.ErrMissing):
			return g, "", err
		}
	}
	for i := range t.of {
		if _, ok := t.of[i].LayerInfo.Schema.LookupPath(property); !ok {
			detail := endpoint.DetailOf(t.noProperty(byParam.Name, property))
			if all, err := v.Ground(); err == nil && !forced {
				detail += " Of areas there are " + strings.Join(all.Types(), ", ") + "."
			}
			return g, "", endpoint.Refuse(endpoint.ErrParameter, byParam.Name, detail)
		}
	}
	return feature.Grouping{Property: property}, property, nil
}

// checkMeasure returns an error unless all layers have a property that can be measured.
func (t *Tally) checkMeasure(op, name string) error {
	for i := range t.of {
		field, ok := t.of[i].LayerInfo.Schema.LookupPath(name)
		if !ok {
			return t.noProperty(op, name)
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

// checkPoints refuses groups by position of features that have more than one.
func (t *Tally) checkPoints(name string) error {
	for i := range t.of {
		if !t.of[i].LayerInfo.AllPoints {
			return endpoint.Refuse(endpoint.ErrParameter, byParam.Name, "Only points have "+endpoint.Printable(name)+
				" as a group: name a property, and write p. before one that is called so.")
		}
	}
	return nil
}

// noProperty returns the refusal of a parameter that names a property which no layer has.
func (t *Tally) noProperty(parameter, name string) error {
	var layers []Filtered
	for i := range t.of {
		layers = append(layers, Filtered{Name: t.of[i].Name, Schema: t.of[i].LayerInfo.Schema})
	}
	return endpoint.Refuse(endpoint.ErrParameter, parameter,
		"There is no property "+endpoint.Printable(name)+": "+PropertyNames(layers, t.listed))
}

// append appends the members of an answer that tell the groups and measures.
func (t *Tally) append(dst []byte, all *feature.Totals) []byte {
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
	return t.appendRest(dst, all)
}

// appendRest appends the members that tell what the groups do not.
func (t *Tally) appendRest(dst []byte, all *feature.Totals) []byte {
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

// maxOutlines is the number of bytes from which on the features of an answer have no geometry, as in pages of regions.
const maxOutlines = 16 << 20

// appendFeatures appends the groups as a FeatureCollection, whose first members are head. The first grouping by areas
// gives the geometries, and the ids if it is the only grouping.
func (t *Tally) appendFeatures(
	ctx context.Context, dst, head []byte, all *feature.Totals, step func(context.Context) error,
) ([]byte, error) {
	head = append(t.appendRest(head, all), ',')
	l := List{Spec: &Spec{}, Format: GeoJSON, Writer: feature.Writer{GeoJSON: true, WithBounds: true}, FirstMembers: string(head)}
	drawn := slices.IndexFunc(t.By, func(g feature.Grouping) bool { _, ok := g.Place.(feature.OutlinedPlacer); return ok })
	left := 0
	start := len(dst)
	dst = l.Begin(dst)
	for i := range all.Groups {
		g := &all.Groups[i]
		f := feature.Feature{Geometry: feature.NoGeometry}
		switch {
		case drawn < 0 || g.Numbers[drawn] == 0:
		case len(dst)-start > maxOutlines:
			left++
		default:
			err := step(ctx)
			if err == nil {
				err = t.By[drawn].Place.(feature.OutlinedPlacer).Outline(ctx, g.Numbers[drawn], &f)
			}
			if err != nil {
				return dst, err
			}
		}
		if len(t.By) > 1 {
			f.ID = ""
		}
		var list []feature.Property
		for k, value := range g.Values {
			list = append(list, feature.Property{Name: t.columns[k], Value: feature.JSONValue(value)})
			if g.Names[k] != "" {
				list = append(list, feature.Property{Name: t.columns[k] + "_name", Value: feature.TextValue([]byte(g.Names[k]))})
			}
		}
		list = append(list, feature.Property{Name: "count", Value: feature.IntegerValue(g.Count)})
		for k, m := range t.Measures {
			list = append(list, feature.Property{Name: m.Op + "_" + m.Property, Value: feature.JSONValue(g.Measures[k])})
		}
		f.Properties = feature.PropertiesOf(list...)
		var err error
		if dst, err = l.Append(dst, &f, ""); err != nil {
			return dst, err
		}
	}
	if dst = append(dst, ']'); left > 0 {
		dst = strconv.AppendInt(append(dst, `,"without_geometry":`...), int64(left), 10)
	}
	return append(dst, '}'), nil
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
func (t *Tally) appendMeasures(dst []byte, values [][]byte) []byte {
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
func (t *Tally) appendTable(dst []byte, all *feature.Totals) []byte {
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
