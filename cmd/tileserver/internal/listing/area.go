package listing

import (
	"context"
	"slices"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/problems"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/shape"
)

// Ground is the area in which features are queried. The zero Ground is the whole world.
type Ground struct {
	feature.Area
	InTurns bool     // requests take turns at what is in the area, because it may be large
	from    []uint64 // the generations that draw it, nil if the address does not tell what it is
}

// AppendGenerationIDs appends the generations that define the area to the generations of an answer. It returns nil
// if the answer may not be cached.
func (a *Ground) AppendGenerationIDs(ids []uint64) []uint64 {
	switch {
	case !a.InTurns:
		return ids
	case ids == nil || a.from == nil:
		return nil
	}
	return append(ids, a.from...)
}

// InRegion returns the area of a region. parameter is the name of the parameter with its type.
func InRegion(v ask.View, typ, id, parameter string) (Ground, error) {
	g, err := v.Ground(typ)
	if err == nil {
		err = problems.CheckTypes(g, parameter, typ)
	}
	if err != nil {
		return Ground{}, err
	}
	return Ground{inTurns{g.Area(typ, id)}, true, g.GenerationIDs(typ)}, nil
}

// inTurns is an area that lets other requests use the processor between its parts, because a large
// region without features has many parts.
type inTurns struct{ feature.Area }

// Cover implements feature.Area.
func (a inTurns) Cover(ctx context.Context, from quadkey.Cell, fn func(p *feature.AreaPart) error) error {
	return a.Area.Cover(ctx, from, func(p *feature.AreaPart) error {
		if err := web.Step(ctx); err != nil {
			return err
		}
		return fn(p)
	})
}

// AreaParams is the area that a request names: nothing, a box, a tile, a region or a drawn area.
type AreaParams struct {
	Area   feature.Area    // a feature.Box or feature.Tile, nil for none
	Region *tiles.Selector // nil for none
	Drawn  *shape.Area     // nil for none
	posted bool            // the area is in the body
}

// AreaParamsOf reads the parameters bbox and tile, and those of region and polygon that more names. It refuses a
// request with more than one of them.
func AreaParamsOf(q *endpoint.Params, more ...string) (w AreaParams) {
	given := ""
	for _, name := range append([]string{"bbox", "tile"}, more...) {
		if !q.Has(name) {
			continue
		}
		if given != "" {
			q.Refuse(name, "Give either "+given+" or "+name+", not both.")
		}
		given = name
	}
	switch given {
	case "bbox":
		w.Area = feature.Box(endpoint.BBox.Of(q))
	case "tile":
		if t := endpoint.Tile.Of(q); t != nil {
			w.Area = feature.Tile(*t)
		}
	case "region":
		r := Region.Of(q)
		w.Region = &r
	case "polygon":
		g, radius := DrawnPolygon.Of(q), DrawnRadius.Of(q)
		if q.Err == nil {
			var err error
			if w.Drawn, err = drawn(g, "polygon", radius); err != nil {
				q.Err = err
			}
		}
	}
	if given != "polygon" && slices.Contains(more, "polygon") && DrawnRadius.Of(q) > 0 {
		q.Refuse("radius", "Give either both polygon and radius, or leave radius out.")
	}
	return w
}

// CheckBorder refuses a drawn area that regions cannot be compared with.
func (w *AreaParams) CheckBorder() error {
	if w.Drawn == nil {
		return nil
	}
	err := w.Drawn.CheckBorder()
	if detail := feature.DetailOf(err, shape.ErrGeometry); detail != "" {
		err = endpoint.Refuse(endpoint.ErrParameter, "", endpoint.Sentence(detail))
	}
	return err
}

// Ground returns the area. It reads a region from v.
func (w *AreaParams) Ground(v ask.View) (Ground, error) {
	if w.Drawn != nil {
		g := Ground{Area: inTurns{w.Drawn}, InTurns: true}
		if !w.posted { // an address tells the area
			g.from = []uint64{}
		}
		return g, nil
	}
	if w.Region == nil {
		return Ground{Area: w.Area}, nil
	}
	return InRegion(v, w.Region.Type, w.Region.ID, "region")
}
