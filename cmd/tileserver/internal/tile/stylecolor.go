package tile

import (
	"cmp"
	"context"
	"errors"
	"image/color"
	"slices"
	"strconv"
	"strings"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/choropleth"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/theme"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/tiles"
	"quadrille/tiles/mvt"
)

// These are the parameters of a style, or of pictures, that colour a layer by a property.
var (
	colorParam = endpoint.Text("color", 512,
		"LAYER.PROPERTY: colours the regions, lines or points of a layer by the values of a property, such as `county.turnover` "+
			"or `points:shops.category`. The member `metadata` of a style then has the legend. Of tiles only pictures have colours: for a "+
			"filter by a property of this name write `p.color=`.").WithExample("county.turnover")
	classesParam = endpoint.Text("classes", 256,
		"How numbers are divided: `quantile`, `jenks`, `equal` or `log`, also with the number of classes, such as `jenks:7`; "+
			"`unique` for a colour for each value; or the least numbers of all classes but the first, such as `0,10,100`. Left "+
			"out, numbers are divided into 5 quantiles, and texts and booleans have a colour for each of the 12 most frequent. "+
			"Without `color` it is ignored: a filter by a property of this name is `p.classes=`.").WithExample("unique")
	schemeParam = endpoint.Word("scheme",
		"Colours of the classes: sequential from `blue` to `heat`, diverging ones, and `many` for values without an order. On "+
			"the dark theme the greatest numbers are the lightest. Without `color` it is ignored: a filter by a property of this name is "+
			"`p.scheme=`.", choropleth.Schemes...).WithExample("many")
)

// coloring is the wish to colour a layer by a property. The zero coloring is none.
type coloring struct {
	layer, property, division, scheme string
}

// coloringOf reads the parameters, and refuses color for a form without colours.
func coloringOf(q *endpoint.Params, colorful bool) (c coloring) {
	if colorParam.Given(q) && !colorful {
		q.Refuse(colorParam.Name, "Leave color out: only pictures and styles have colours. For a filter by a property color write p.color=.")
	}
	text := colorParam.Of(q)
	c.division, c.scheme = classesParam.Of(q), schemeParam.Of(q)
	var ok bool
	if c.layer, c.property, ok = strings.Cut(text, "."); colorParam.Given(q) && (!ok || c.layer == "" || c.property == "") {
		q.Refuse(colorParam.Name, "Write color as LAYER.PROPERTY, such as county.turnover.")
	}
	if classesParam.Given(q) && c.division == "" {
		q.Refuse(classesParam.Name, "Name a division in classes, such as jenks:7, or leave it out.")
	}
	if _, err := choropleth.ParseDivision(c.division); err != nil {
		q.Refuse(classesParam.Name, sentence(err))
	}
	return c
}

// query returns the parameters, encoded and in order, for addresses; "" for the zero coloring.
func (c *coloring) query() string {
	if c.layer == "" {
		return ""
	}
	query := with(with("", colorParam.Name, c.layer+"."+c.property), classesParam.Name, c.division)
	return strings.TrimPrefix(with(query, schemeParam.Name, c.scheme), "?")
}

// sentence returns the text of an error about classes for a client.
func sentence(err error) string {
	text := strings.TrimPrefix(err.Error(), choropleth.ErrClasses.Error()+": ")
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// Legend says what the colours of a style mean.
type Legend struct {
	_        struct{}       `doc:"What the colours of a style mean."`
	Layer    string         `json:"layer"`
	Property string         `json:"property"`
	Method   string         `json:"method" doc:"How values are divided."`
	Classes  []LegendClass  `json:"classes"`
	Rest     *LegendRemnant `json:"rest,omitempty" doc:"Values in no class: rare ones, and texts beside numbers."`
	Missing  *LegendRemnant `json:"missing,omitempty" doc:"Regions or points without a value."`
}

// LegendClass is a class of a legend.
type LegendClass struct {
	Color string   `json:"color"`
	From  *float64 `json:"from,omitempty" doc:"Least number of the class."`
	To    *float64 `json:"to,omitempty" doc:"Greatest number of the class."`
	Value *string  `json:"value,omitempty" doc:"The text or boolean, of a class that is one. A text may be empty."`
	Count int      `json:"count"`
}

// LegendRemnant is what is in no class.
type LegendRemnant struct {
	Color string `json:"color"`
	Count int    `json:"count"`
}

// colored is the colour of a layer, of a style or of pictures.
type colored struct {
	coloring
	classes choropleth.Classes // with colours
	missing theme.Color
	opacity float64 // of areas
	legend  Legend
}

// color returns the colours of the layer that a coloring names, in a theme; nil for no coloring. placed is set if the
// request has a heavy place. Reading values is one turn, so ctx is none of withHeavy.
func (s *Handlers) color(ctx context.Context, v *view, set *layerSet, wish coloring, named string, placed bool) (*colored, error) {
	if wish.layer == "" {
		return nil, nil
	}
	kept, err := s.classes(ctx, v, set, wish, placed)
	if err != nil {
		return nil, err
	}
	of := &colored{coloring: wish, classes: kept.Classes, missing: theme.GetTokens().Themes[named].Map.Missing, opacity: 1}
	c := &of.classes
	c.List = slices.Clone(kept.List)
	if err := c.Color(wish.scheme, named == "dark"); err != nil {
		return nil, err
	}
	of.legend = Legend{Layer: wish.layer, Property: wish.property, Method: c.Method, Classes: []LegendClass{}}
	for _, class := range c.List {
		l := LegendClass{Color: class.Color, Count: class.Count}
		if c.Numeric {
			l.From, l.To = &class.From, &class.To
		} else {
			l.Value = &class.Value
		}
		of.legend.Classes = append(of.legend.Classes, l)
	}
	if c.Rest > 0 {
		of.legend.Rest = &LegendRemnant{of.missing.CSS(), c.Rest}
	}
	if c.Missing > 0 {
		of.legend.Missing = &LegendRemnant{of.missing.CSS(), c.Missing}
	}
	return of, nil
}

// expression returns the colours for a style.
func (of *colored) expression() []any {
	c, missing, value := &of.classes, of.missing.CSS(), []any{"get", of.property}
	switch {
	case len(c.List) == 0:
		return []any{"to-color", missing}
	case c.Numeric:
		step := []any{"step", []any{"to-number", value}, c.List[0].Color}
		for i, stop := range c.Stops {
			step = append(step, stop, c.List[i+1].Color)
		}
		return []any{"case", []any{"==", []any{"typeof", value}, "number"}, step, missing}
	}
	match := []any{"match", []any{"to-string", value}}
	for _, class := range c.List {
		match = append(match, class.Value, class.Color)
	}
	return []any{"case", []any{"has", of.property}, append(match, missing), missing} // no value is the text ""
}

// colors returns the colours of the classes, and last that of other and of missing values.
func (of *colored) colors() (all []color.NRGBA) {
	for _, class := range of.classes.List {
		var c theme.Color
		_ = c.UnmarshalText([]byte(class.Color)) // package choropleth writes them so
		all = append(all, c.NRGBA)
	}
	return append(all, of.missing.NRGBA)
}

// classOf returns the index in colors for a value, a message of package mvt, or for nil: what the expression is for it.
func (of *colored) classOf(value []byte) int {
	class := -1
	if text, ok := mvt.StringValue(value); ok {
		class = of.classes.OfText(string(text))
	} else if is, ok := mvt.BoolValue(value); ok {
		class = of.classes.OfText(strconv.FormatBool(is))
	} else if n, ok := mvt.NumberValue(value); ok {
		class = of.classes.OfNumber(n)
	}
	if class < 0 {
		return len(of.classes.List)
	}
	return class
}

// classesKey identifies the classes of a property of a generation.
type classesKey struct {
	from   uint64
	filter string
	coloring
}

// Hash returns 0, because one lock guards all classes.
func (classesKey) Hash() uint64 { return 0 }

// ExtraBytes returns the size of the names.
func (k classesKey) ExtraBytes() int {
	return len(k.layer) + len(k.property) + len(k.division) + len(k.filter)
}

// keptClasses are classes in memory.
type keptClasses struct{ choropleth.Classes }

// Bytes returns about the size of the classes.
func (c *keptClasses) Bytes() int64 {
	size := int64(256)
	for _, class := range c.List {
		size += 128 + int64(len(class.Value))
	}
	return size
}

// classes returns the classes of a property, without colours. Those of published layers are kept.
func (s *Handlers) classes(ctx context.Context, v *view, set *layerSet, of coloring, placed bool) (*keptClasses, error) {
	d, err := choropleth.ParseDivision(of.division)
	if err != nil {
		return nil, err
	}
	of.scheme = ""
	if !slices.Contains(set.types, of.layer) && !slices.Contains(set.points, of.layer) {
		return nil, noLayerToColor(v, set, of.layer)
	}
	build := func(ctx context.Context) (kept *keptClasses, err error) {
		err = s.RunHeavy(ctx, !placed, func() error {
			return s.InTurn(ctx, func(ctx context.Context) error {
				steps := &feature.Query{Step: web.Step}
				values, err := s.valuesOf(steps.WithSteps(ctx), v, set, of.layer, of.property)
				if err != nil {
					return err
				}
				c, err := choropleth.Divide(values, d)
				if errors.Is(err, choropleth.ErrClasses) {
					return endpoint.Refuse(endpoint.ErrParameter, classesParam.Name, sentence(err))
				} else if err != nil {
					return err
				}
				kept = &keptClasses{*c}
				return nil
			})
		})
		return kept, err
	}
	layer := set.with(slices.DeleteFunc(slices.Clone(set.points), func(name string) bool { return name != of.layer }))
	from, live := v.from(layer, nil)
	joined, joinsLive := v.colorFrom(of)
	if live || joinsLive {
		return build(ctx)
	}
	from = append(from, joined)
	h := web.HashStart
	for _, id := range from {
		h = h.Number(id)
	}
	return s.classesKept.Do(ctx, classesKey{uint64(h), v.filters.key(layer), of}, func() (*keptClasses, error) {
		// Other requests may wait for the classes.
		shared, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Timeout)
		defer cancel()
		return build(shared)
	})
}

// colorFrom returns a number for the state of what a layer is coloured by beside its own data. live is
// set if it changes at any time.
func (v *view) colorFrom(c coloring) (state uint64, live bool) {
	for _, p := range v.points {
		if p.LayerInfo.Name == c.layer && p.LayerInfo.Live {
			live = true
		}
	}
	joins := v.filters.joins()
	if collection, _, ok := v.joinOf(c.property); ok {
		joins = append(slices.Clip(joins), joinedColumns{collection: collection})
	}
	ids, joinsLive := v.joinedFrom(joins, nil)
	return stateOfJoins(ids), live || joinsLive
}

// valuesOf returns the values of a property of a layer of the set.
func (s *Handlers) valuesOf(ctx context.Context, v *view, set *layerSet, layer, property string) (*choropleth.Values, error) {
	if slices.Contains(set.types, layer) {
		if !v.isColorable(set, layer) {
			return nil, noLayerToColor(v, set, layer)
		}
		b, err := v.Boundaries.ReaderOf(layer)
		if err != nil {
			return nil, err
		}
		if property == mapColor { // each tile has it
			return nil, endpoint.Refuse(endpoint.ErrParameter, colorParam.Name, "Use another property: "+mapColor+
				" only tells neighbours apart, as the style does without color.")
		}
		columns, err := b.Columns(ctx, layer, []string{property})
		if collection, field, ok := v.joinOf(property); ok && errors.Is(err, tiles.ErrNoColumn) {
			columns, err = v.joinColumns(ctx, b, layer, joinedColumns{collection, feature.Schema{field}})
		}
		if errors.Is(err, tiles.ErrNoColumn) {
			return nil, noProperty(property, layer, columnNames(b, layer))
		} else if err != nil {
			return nil, err
		}
		only, err := v.passing(ctx, b, layer)
		if err != nil {
			return nil, err
		}
		return valuesOfColumn(columns[0], only)
	}
	i := slices.IndexFunc(v.points, func(p *ask.Layer) bool { return p.LayerInfo.Name == layer })
	if i < 0 || v.points[i].LayerInfo.Drawing != nil {
		return nil, noLayerToColor(v, set, layer)
	}
	return valuesOfPoints(ctx, v.points[i], v.filters.of[layer], property)
}

// noLayerToColor refuses a layer that is not there, or that has a look of its own.
func noLayerToColor(v *view, set *layerSet, layer string) error {
	var names []string
	for _, typ := range set.types {
		if v.isColorable(set, typ) {
			names = append(names, typ)
		}
	}
	for _, name := range set.points {
		if set.drawings[name] == nil {
			names = append(names, name)
		}
	}
	return endpoint.Refuse(endpoint.ErrParameter, colorParam.Name, endpoint.Printable(layer)+
		" is no layer to colour among those of the address: "+someNames(names))
}

// isColorable reports whether maps draw a type as areas or lines, and not by names alone as seas.
func (v *view) isColorable(set *layerSet, typ string) bool {
	return v.isOfLines(typ) || newPalette(theme.Themes[0], set).fill(typ) != nil
}

func (v *view) isOfLines(typ string) bool {
	return slices.ContainsFunc(v.Boundaries.Types(), func(t tiles.TypeMeta) bool { return t.Name == typ && t.IsLines })
}

// mapColor is the attribute of tiles that tells neighbours apart.
const mapColor = "map_color"

func noProperty(property, layer string, known []string) error {
	return endpoint.Refuse(endpoint.ErrParameter, colorParam.Name, "There is no property "+endpoint.Printable(property)+" of "+layer+
		" to colour by: "+someNames(known))
}

// maxOthers bounds the different texts of a property that colours a map.
const maxOthers = 10_000

// addOther counts a text or boolean.
func addOther(all *choropleth.Values, text string) error {
	if all.Others[text]++; len(all.Others) > maxOthers {
		return endpoint.Refuse(endpoint.ErrParameter, colorParam.Name, "Use another property: this one has more than "+
			strconv.Itoa(maxOthers)+" different texts, which colours cannot tell apart.")
	}
	return nil
}

// valuesOfColumn returns the values of the regions that pass.
func valuesOfColumn(c *tiles.Column, only *tiles.Passing) (all *choropleth.Values, err error) {
	all = &choropleth.Values{Others: map[string]int{}}
	c.Values(only, func(value []byte) {
		if value == nil {
			all.Missing++
		} else if text, ok := mvt.StringValue(value); ok {
			err = cmp.Or(err, addOther(all, string(text)))
		} else if is, ok := mvt.BoolValue(value); ok {
			all.Others[strconv.FormatBool(is)]++
		} else if n, ok := mvt.NumberValue(value); ok {
			all.Numbers = append(all.Numbers, n)
		}
	})
	return all, err
}

// mostColored bounds the points whose values are read for colours.
const mostColored = 1_000_000

// valuesOfPoints returns the values of a property of the points of a layer.
func valuesOfPoints(ctx context.Context, p *ask.Layer, by feature.Filter, property string) (*choropleth.Values, error) {
	if p.Err != nil {
		return nil, p.Err
	}
	if _, ok := p.LayerInfo.Schema.Lookup(property); !ok {
		var known []string
		for _, f := range p.LayerInfo.Schema {
			known = append(known, f.Name)
		}
		return nil, noProperty(property, p.LayerInfo.Name, known)
	}
	all := &choropleth.Values{Others: map[string]int{}}
	columns := feature.NewColumns([]string{property})
	n := 0
	for f, err := range p.Features(ctx, &feature.Query{Filter: by, Step: web.Step}) {
		if err != nil {
			return nil, err
		}
		if n++; n > mostColored {
			return nil, endpoint.Refuse(endpoint.ErrParameter, colorParam.Name, "Colour a collection of at most "+strconv.Itoa(mostColored)+
				" points; write a style of your own for a larger one.")
		}
		switch v := columns.ValuesOf(f.Properties)[0]; v.Kind() {
		case feature.Null:
			all.Missing++
		case feature.Number, feature.Integer:
			if n, ok := v.Number(); ok {
				all.Numbers = append(all.Numbers, n)
			}
		default:
			if err := addOther(all, tiles.Shorten(v.Text())); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// paint colours a layer of a style, if it is the one to be coloured.
func (of *colored) paint(l *styleLayer, name string) {
	if of == nil || of.layer != name {
		return
	}
	switch l.Type {
	case "fill":
		l.Paint["fill-color"], l.Paint["fill-opacity"] = of.expression(), of.opacity
	case "line":
		l.Paint["line-color"] = of.expression()
	case "circle":
		l.Paint["circle-color"] = of.expression()
	}
}

// fieldsFor returns the properties to ask tiles for so that they have the one that a style colours
// by: nil if they have it anyway.
func (set *layerSet) fieldsFor(v *view, c coloring) []string {
	if c.layer == "" {
		return nil
	}
	usual, isRegions := set.columns[c.layer]
	for _, p := range v.points {
		if p.LayerInfo.Name == c.layer && len(p.LayerInfo.Schema) > tiles.MaxColumns {
			return []string{c.property}
		}
	}
	if !isRegions && !slices.Contains(set.types, c.layer) || slices.Contains(usual, c.property) {
		return nil
	}
	names := append([]string{c.property}, usual...)
	names = names[:min(len(names), tiles.MaxColumns)]
	slices.Sort(names)
	return names
}

// layerOf returns the layer of a name in a list: the type of a region, or all of the name.
func layerOf(name string) string {
	if strings.HasPrefix(name, ask.PointsPrefix) {
		return name
	}
	typ, _, _ := strings.Cut(name, ":")
	return typ
}
