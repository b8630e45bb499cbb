package region

import (
	"bytes"
	"context"
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
)

// getRegionsWithin answers GET /regions/within?bbox=&tile=&region= with a page of the regions in an
// area, of every type or of those in types. With bbox=&types=T&id=ID it answers with the part of
// one region in the box as GeoJSON.
func (s *Handlers) getRegionsWithin(c echo.Context, q *endpoint.Params) error {
	of, types, id := listing.AreaParamsOf(q, "region"), listing.Types.Of(q), idParam.Of(q)
	limit, cursor := int(limitParam.Of(q)), cursorParam.Of(q)
	box, boxed := of.Area.(feature.Box)
	switch {
	case of.Area == nil && of.Region == nil:
		q.Refuse("bbox", "Add bbox, west,south,east,north in degrees, or tile, z/x/y, or region, such as country:ch.")
	case idParam.Given(q) && !boxed:
		q.Refuse("id", "Give bbox with id: the part of a region is that in a box.")
	case idParam.Given(q) && id == "":
		q.Refuse("id", "Give id a region's id, or leave it out for all regions.")
	case idParam.Given(q) && len(types) != 1:
		q.Refuse("types", "Name the one region type that id is of in types.")
	case idParam.Given(q) && (cursorParam.Given(q) || limitParam.Given(q)):
		q.Refuse("id", "Leave out limit and cursor: the part of one region is one answer.")
	case cursorParam.Given(q) && cursor == "":
		q.Refuse("cursor", "Leave cursor out for the first page; for the next one give it the answer's next.")
	}
	l := s.newList(c, q, &list)
	if boxed {
		l.FirstMembers = string(append(feature.AppendBounds(nil, boundsOf(quadkey.Box(box))), ','))
	}
	if id != "" && s.form.Given(q) {
		q.Refuse("format", "Leave out format: the part of one region is GeoJSON.")
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
	in, err := of.Ground(q.View())
	if err != nil {
		return err
	}
	query := feature.Query{In: in.Area}
	if !boxed || withBorders(&l) {
		query.Step = web.Step
	}
	return s.send(c, q, g, &l, types, query, limit, cursor, in.AppendGenerationIDs(g.GenerationIDs(types...)))
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

// send answers with a page of the regions of types. The page depends on generations. Queries with a
// Step share the processors.
func (s *Handlers) send(
	c echo.Context, q *endpoint.Params, g *ask.Ground, l *listing.List, types []string, query feature.Query,
	limit int, cursor string, from []uint64,
) error {
	if !withBorders(l) {
		query.Detail = feature.WithoutGeometry
	}
	answer := web.Answer{Format: l.Format.Format, ByAccept: !s.form.Given(q), Linked: !l.Format.Object}
	return s.Reply(c, answer, from, func(ctx context.Context, out *web.Scratch) error {
		fill := func(ctx context.Context) (err error) {
			var next string
			if out.Body, next, err = appendPage(ctx, out.Body, g, l, types, query, limit, cursor); err == nil &&
				next != "" && !l.Format.Object {
				s.LinkNext(c, next, l.Format.Name)
			}
			return err
		}
		if query.Step == nil {
			return fill(ctx)
		}
		return s.InTurn(s.WithClientOf(ctx, c), fill)
	})
}

// maxPageBytes is the size in bytes at which a page with long borders ends.
const maxPageBytes = 16 << 20

// list describes lists of regions.
var list = listing.Spec{Name: "regions", List: RegionsWithin{}, Features: RegionsOrPart{}, Item: RegionFeature{}}

// schema has the properties of a region in lists.
var schema = feature.Schema{
	{Name: "bbox", Kind: feature.Any},
	{Name: "id", Kind: feature.Text},
	{Name: "name", Kind: feature.Text},
	{Name: "type", Kind: feature.Text},
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

// appendPage writes a page of the regions of types. Each has the box around it or, if the request
// has a box, around its part in that box.
func appendPage(
	ctx context.Context, dst []byte, g *ask.Ground, l *listing.List, types []string, q feature.Query, limit int, cursor string,
) (_ []byte, next string, err error) {
	of := layersOf(asked(g, types, &q), types)
	if err := q.Continue(of.Info(), cursor); err != nil {
		return dst, "", err
	}
	box, within := q.In.(feature.Box)
	var members []byte
	dst = l.Begin(dst)
	next, err = feature.Page(ctx, of, q, limit, func(f *feature.Feature) (err error) {
		typ, _, _ := bytes.Cut(f.Mark, []byte{':'})
		members = listing.AppendRegion(members[:0], &tiles.Region{Type: string(typ), ID: f.ID, Name: f.Name()})
		bounds := f.Bounds
		if within {
			bounds = tiles.ClipBounds(quadkey.Box(box), bounds)
		}
		members = feature.AppendBounds(append(members, ','), boundsOf(bounds))
		f.Properties = feature.CompactProperties(members[1:])
		if dst, err = l.Append(dst, f, ""); err == nil && len(dst) >= maxPageBytes {
			err = feature.ErrPageFull
		}
		return err
	})
	return l.End(dst, next), next, err
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
