package region

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/problems"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/shape"
)

// getRegionsWithin answers GET /regions/within?bbox=&tile=&region= with a page of the regions in an
// area, of every type or of those in types. With bbox=&types=T&id=ID it answers with the part of
// one region in the box as GeoJSON.
func (s *Handlers) getRegionsWithin(c echo.Context, q *endpoint.Params) error {
	of, types, id := listing.AreaParamsOf(q, "region", "polygon"), listing.Types.Of(q), idParam.Of(q)
	limit, cursor, shares := int(limitParam.Of(q)), cursorParam.Of(q), sharesParam.Of(q)
	box, boxed := of.Area.(feature.Box)
	switch {
	case of.Area == nil && of.Region == nil && of.Drawn == nil:
		q.Refuse("bbox", "Add bbox, west,south,east,north in degrees, or tile, z/x/y, or region, such as country:ch, or polygon.")
	case idParam.Given(q) && !boxed:
		q.Refuse("id", "Give bbox with id: the part of a region is that in a box.")
	case idParam.Given(q) && id == "":
		q.Refuse("id", "Give id a region's id, or leave it out for all regions.")
	case idParam.Given(q) && len(types) != 1:
		q.Refuse("types", "Name the one region type that id is of in types.")
	case idParam.Given(q) && (cursorParam.Given(q) || limitParam.Given(q)):
		q.Refuse("id", "Leave out limit and cursor: the part of one region is one answer.")
	case shares && of.Drawn == nil:
		q.Refuse("shares", "Give either both polygon and shares, or leave shares out.")
	case cursorParam.Given(q) && cursor == "":
		q.Refuse("cursor", "Leave cursor out for the first page; for the next one give it the answer's next.")
	}
	l := s.newList(c, q, &list)
	if boxed {
		l.FirstMembers = string(append(feature.AppendBounds(nil, boundsOf(quadkey.Box(box))), ','))
	}
	if id != "" && (s.form.Given(q) || propertiesParam.Given(q)) {
		q.Refuse("id", "Leave out format and properties: the part of one region is GeoJSON with its name.")
	}
	if q.Err != nil {
		return q.Err
	}
	g, err := ground(q, types)
	if err != nil {
		return err
	}
	if id != "" && g.Regions(types[0]) == nil {
		q.Refuse("id", "Leave out id: only a region has a part in a box. /regions/"+types[0]+"/ID?geometry=true has the whole.")
		return q.Err
	}
	if id != "" {
		return s.Reply(c, web.Answer{Format: web.FormatGeoJSON}, g.GenerationIDs(types...),
			func(ctx context.Context, out *web.Scratch) (err error) {
				out.Body, err = s.appendCutout(s.WithClientOf(ctx, c), out.Body, g.Regions(types[0]), types[0], id, quadkey.Box(box))
				return err
			})
	}
	return s.sendWithin(c, q, g, &l, &of, types, shares, limit, cursor)
}

// postRegionsWithin answers POST /regions/within with a page of the regions in the area in the body.
func (s *Handlers) postRegionsWithin(c echo.Context, q *endpoint.Params) error {
	types, shares, limit, cursor := listing.Types.Of(q), sharesParam.Of(q), int(limitParam.Of(q)), endpoint.Cursor.Of(q)
	l := s.newList(c, q, &list)
	propertiesParam.Of(q) // refused before the body is read
	of, err := listing.PostedAreaOf(s.Kit, c, q)
	if err != nil {
		return err
	}
	g, err := ground(q, types)
	if err != nil {
		return err
	}
	return s.sendWithin(c, q, g, &l, &of, types, shares, limit, cursor)
}

// sendWithin answers with a page of the regions in an area.
func (s *Handlers) sendWithin(c echo.Context, q *endpoint.Params, g *ask.Ground, l *listing.List, of *listing.AreaParams, types []string,
	shares bool, limit int, cursor string) error {
	if shares && !of.Drawn.HasBorder() {
		return endpoint.Refuse(endpoint.ErrParameter, "shares", "Leave out shares or radius: ground is shared with a polygon itself.")
	}
	if err := of.CheckBorder(); err != nil {
		return err
	}
	in, err := of.Ground(q.View())
	if err != nil {
		return err
	}
	query := feature.Query{In: in.Area}
	if _, boxed := of.Area.(feature.Box); !boxed || withBorders(l) {
		query.Step = web.Step
	}
	p := regionPage{List: l, types: types, limit: limit, cursor: cursor}
	if shares {
		p.measured, l.Schema = of.Drawn, sharesSchema
	}
	return s.send(c, q, g, &p, query, in.AppendGenerationIDs(g.GenerationIDs(types...)))
}

// newList begins a list in the form of the request.
func (s *Handlers) newList(c echo.Context, q *endpoint.Params, of *listing.Spec) listing.List {
	form := listing.FormatOf(c.Request(), s.form.Of(q))
	return listing.List{
		Spec: of, Format: form, Schema: schema, Shapes: true,
		Writer: feature.Writer{GeoJSON: form.GeoJSON, NoIDs: true, SkipGeometry: listing.SkipGeometry.Of(q)},
	}
}

// withBorders reports whether a list has the borders of its regions.
func withBorders(l *listing.List) bool { return l.Format != listing.JSON && !l.Writer.SkipGeometry }

// ground returns the regions and other areas of types. All types must exist.
func ground(q *endpoint.Params, types []string) (*ask.Ground, error) {
	g, err := q.View().Ground(types...)
	if err == nil {
		err = problems.CheckTypes(g, "types", types...)
	}
	return g, err
}

// regionPage is a page of regions of types that is to be written.
type regionPage struct {
	*listing.List
	types    []string
	limit    int
	cursor   string
	from     listing.From
	measured *shape.Area // with which regions share ground that is told, or nil
	// chosen are the regions' own properties that the list has beside its members; all if nil and all is set.
	chosen []string
	all    bool
	base   feature.Schema // of the members, which win over properties of the same name
}

// choose adds the regions' own properties: those that the request names, or in tables all.
func (p *regionPage) choose(q *endpoint.Params, g *ask.Ground) error {
	p.base, p.chosen = p.Schema, propertiesParam.Of(q)
	if p.all = p.chosen == nil && p.Format.Content == nil; p.chosen == nil && !p.all || q.Err != nil {
		return q.Err
	}
	var own feature.Schema
	var layers []listing.Filtered
	for _, l := range g.Layers(p.types...) {
		in := l.Info()
		layers = append(layers, listing.Filtered{Name: in.Name, Schema: in.Schema})
		own = own.Merge(in.Schema)
		p.UnlistedProperties = p.UnlistedProperties || p.all && listing.MayLackProperties(in.Schema, in.Live)
	}
	for _, name := range p.chosen {
		_, member := p.base.Lookup(name)
		if _, ok := own.Lookup(name); !ok && !member && len(layers) > 0 {
			return endpoint.Refuse(endpoint.ErrParameter, propertiesParam.Name,
				"There is no property "+endpoint.Printable(name)+": "+listing.PropertyNames(layers, ""))
		}
	}
	p.Schema = p.Schema.Merge(slices.DeleteFunc(own, func(f feature.Field) bool { return !p.has(f.Name) }))
	return nil
}

// has reports whether the list has a property of the regions beside its members.
func (p *regionPage) has(name string) bool {
	_, member := p.base.Lookup(name)
	return !member && (p.all || slices.Contains(p.chosen, name))
}

// send answers with a page of regions. The page depends on generations. Queries with a Step share the
// processors.
func (s *Handlers) send(c echo.Context, q *endpoint.Params, g *ask.Ground, p *regionPage, query feature.Query, from []uint64) error {
	if err := p.choose(q, g); err != nil {
		return err
	}
	if !withBorders(p.List) && p.measured == nil {
		query.Detail = feature.WithoutGeometry
	}
	answer := web.Answer{Format: p.Format.Format, ByAccept: !s.form.Given(q), Linked: !p.Format.Object}
	return s.Reply(c, answer, from, func(ctx context.Context, out *web.Scratch) error {
		fill := func(ctx context.Context) (err error) {
			var next string
			if out.Body, next, err = p.append(ctx, out.Body, g, query); err == nil && next != "" && !p.Format.Object {
				s.LinkNext(c, "cursor", next, p.Format.Name)
			}
			return err
		}
		if query.Step == nil {
			return fill(ctx)
		}
		return s.InTurn(s.WithClientOf(ctx, c), fill)
	})
}

const (
	// maxPageBytes is the size in bytes at which a page with long borders ends.
	maxPageBytes = 16 << 20
	// maxMeasured is the number of positions of measured borders at which a page ends.
	maxMeasured = 500_000
)

// list describes lists of regions.
var list = listing.Spec{Name: "regions", List: RegionsWithin{}, Features: RegionsOrPart{}, Item: RegionFeature{}}

// schema has the properties of a region in lists.
var schema = feature.Schema{
	{Name: "bbox", Kind: feature.Any},
	{Name: "id", Kind: feature.Text},
	{Name: "name", Kind: feature.Text},
	{Name: "type", Kind: feature.Text},
}

// sharesSchema has also the shares of ground.
var sharesSchema = schema.Merge(feature.Schema{
	{Name: "share_of_area", Kind: feature.Number},
	{Name: "share_of_region", Kind: feature.Number},
	{Name: "shared_m2", Kind: feature.Number},
})

// appendShares appends the members of sharesSchema for a region.
func appendShares(dst []byte, f *feature.Feature, with *shape.Area) (_ []byte, positions int, err error) {
	g, err := f.Orb()
	if err != nil {
		return dst, 0, err
	}
	m, err := with.Measure(g)
	if err != nil {
		return dst, 0, fmt.Errorf("%s: %w", f.ID, err)
	}
	share := func(of float64) float64 {
		if of > 0 {
			return math.Round(min(1, m.Shared/of)*1e6) / 1e6
		}
		return 0
	}
	dst = fmt.Appendf(dst, `,"share_of_area":%v,"share_of_region":%v,"shared_m2":%.0f`, share(m.Area), share(m.Polygons), m.Shared)
	return dst, m.Positions, nil
}

func boundsOf(b quadkey.Box) [4]float64 { return [4]float64{b.West, b.South, b.East, b.North} }

// asked returns the layers of types for a query. Layers that cannot answer are omitted, unless the
// request names them.
func asked(g *ask.Ground, types []string, q *feature.Query) []feature.Layer {
	layers := g.Layers(types...)
	if len(types) > 0 {
		return layers
	}
	return slices.DeleteFunc(layers, func(l feature.Layer) bool { return l.Info().Check(q) != nil })
}

// append writes the page. Each region has the box around it or, if the request has a box, around its part in
// that box.
func (p *regionPage) append(ctx context.Context, dst []byte, g *ask.Ground, q feature.Query) (_ []byte, next string, err error) {
	layers := asked(g, p.types, &q)
	if err := p.from.Locate(ctx, q.At, q.Near); err != nil {
		return dst, "", err
	}
	for i, l := range layers {
		layers[i] = p.from.Others(l, l.Info().Name)
	}
	of := layersOf(layers, p.types)
	if err := q.Continue(of.Info(), p.cursor); err != nil {
		return dst, "", err
	}
	box, within := q.In.(feature.Box)
	var members []byte
	var own []feature.Property
	dst = p.Begin(dst)
	measured := 0
	next, err = feature.Page(ctx, of, q, p.limit, func(f *feature.Feature) (err error) {
		typ, _, _ := bytes.Cut(f.Mark, []byte{':'})
		members = listing.AppendRegion(members[:0], &tiles.Region{Type: string(typ), ID: f.ID, Name: f.Name()})
		bounds := f.Bounds
		if within {
			bounds = tiles.ClipBounds(quadkey.Box(box), bounds)
		}
		members = feature.AppendBounds(append(members, ','), boundsOf(bounds))
		if p.measured != nil {
			var n int
			if members, n, err = appendShares(members, f, p.measured); err != nil {
				return err
			}
			if measured += n; !withBorders(p.List) {
				f.Geometry = feature.NoGeometry
			}
			if err := cmp.Or(ctx.Err(), web.Step(ctx)); err != nil {
				return err
			}
		}
		own = own[:0]
		for name, value := range f.Properties.All() {
			if p.has(name) {
				own = append(own, feature.Property{Name: name, Value: value})
			}
		}
		if len(own) > 0 {
			members = feature.PropertiesOf(own...).AppendMembers(append(members, ','))
		}
		f.Properties = feature.CompactProperties(members[1:])
		if dst, err = p.Append(dst, f, ""); err == nil && (len(dst) >= maxPageBytes || measured >= maxMeasured) {
			err = feature.ErrPageFull
		}
		return err
	})
	return p.End(dst, next), next, err
}

// appendCutout writes a FeatureCollection of at most one region. Its foreign member zoom identifies
// the border: 13 for the exact one, or less for a simpler one.
func (s *Handlers) appendCutout(ctx context.Context, dst []byte, b *tiles.Reader, typ, id string, box quadkey.Box) ([]byte, error) {
	var zoom int
	err := s.InTurn(ctx, func(context.Context) (err error) {
		dst, zoom, err = b.AppendCutout(ctx, append(dst, listing.CollectionHead...), typ, id, box)
		return err
	})
	if err != nil {
		return dst, err
	}
	dst = strconv.AppendInt(append(dst, `],"zoom":`...), int64(zoom), 10)
	return append(dst, '}'), nil
}
