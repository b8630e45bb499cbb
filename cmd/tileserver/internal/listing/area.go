package listing

import (
	"context"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/problems"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/quadkey"
	"quadrille/tiles"
)

// Ground is the area in which features are queried. The zero Ground is the whole world.
type Ground struct {
	feature.Area
	FromData bool     // data draws the area, not the question alone
	from     []uint64 // the generations that draw it, nil if it may change at any time
}

// AppendGenerationIDs appends the generations that define the area to the generations of an answer. It returns nil
// if the answer may not be cached.
func (a *Ground) AppendGenerationIDs(ids []uint64) []uint64 {
	switch {
	case !a.FromData:
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

// AreaParams is the area that a request names: nothing, a box, a tile or a region.
type AreaParams struct {
	Area   feature.Area    // a feature.Box or feature.Tile, nil for none
	Region *tiles.Selector // nil for none
}

// AreaParamsOf reads the parameters bbox and tile, and region if more names it. It refuses a request
// with more than one of them.
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
	}
	return w
}

// Ground returns the area. It reads a region from v.
func (w *AreaParams) Ground(v ask.View) (Ground, error) {
	if w.Region == nil {
		return Ground{Area: w.Area}, nil
	}
	return InRegion(v, w.Region.Type, w.Region.ID, "region")
}
