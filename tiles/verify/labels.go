package verify

import (
	"cmp"
	"context"

	"quadrille/cellstore"
	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
	"quadrille/tiles/mvt"
)

// labelInside reports whether a label at the deepest zoom lies in its region or
// on its border.
func (p *checkPart) labelInside(ctx context.Context, typ int, l labelAt) (bool, error) {
	key := l.tile.Key()
	rows := make([]cellstore.Row, 1)
	if err := p.v.bounds.NextEach(ctx, key[:], nil, []string{p.v.types[typ].Name + layout.FamilyMVT}, rows); err != nil {
		return false, err
	}
	if rows[0].Empty() || len(rows[0].Cells[0].Value) == 0 {
		return false, nil
	}
	value := rows[0].Cells[0].Value
	t, ok := layout.RowTile(rows[0].Key)
	if !ok || t != l.tile && !(value[0] == layout.MarkLeaf && t.Contains(l.tile)) {
		return false, nil
	}
	// Undecodable rows were reported when the row was checked.
	quiet := &checkPart{v: p.v, types: p.types, found: findings{}}
	if _, ok := quiet.decode(typ, t, value[1:]); !ok {
		return false, nil
	}
	at := grid.Pt(l.x, l.y)
	winding := 0
	for i := range quiet.tile.edges {
		e := &quiet.tile.edges[i]
		if e.region != l.region {
			continue
		}
		side := cross(e.a, e.b, at)
		if side == 0 && min(e.a.X, e.b.X) <= at.X && at.X <= max(e.a.X, e.b.X) && min(e.a.Y, e.b.Y) <= at.Y && at.Y <= max(e.a.Y, e.b.Y) {
			return true, nil
		}
		switch {
		case e.a.Y <= at.Y && e.b.Y > at.Y && side > 0:
			winding++
		case e.b.Y <= at.Y && e.a.Y > at.Y && side < 0:
			winding--
		}
	}
	return winding != 0, nil
}

// labels checks the labels of a tile.
func (p *checkPart) labels(typ int, t quadkey.Tile, value []byte) {
	c := &p.tile
	pt := &p.types[typ]
	if len(value) == 0 || value[0] != layout.MarkMixed {
		p.find(typ, ProblemRow, t, -1, "the mark of its labels is none")
		return
	}
	if err := mvt.Validate(value[1:]); err != nil {
		p.find(typ, ProblemTile, t, -1, "labels: %v", err)
		return
	}
	rest, some, err := mvt.NextLayer(value[1:], &c.view)
	if err != nil || !some || len(rest) > 0 || string(c.view.Name) != p.v.types[typ].Name+"_label" || c.view.Extent != mvt.Extent {
		p.find(typ, ProblemTile, t, -1, "its labels are not one layer of labels")
		return
	}
	for i := range c.view.Len() {
		f, err := c.view.Feature(i)
		if err != nil {
			p.find(typ, ProblemTile, t, -1, "labels: %v", err)
			return
		}
		region, ok := p.regionOf(typ, t, f, cmp.Or(p.v.types[typ].LabelOf, layout.TagID))
		if !ok {
			continue
		}
		pt.Labels++
		var path mvt.Path
		path.Reset(f)
		pts, _, _, err := path.Next(c.path[:0])
		c.path = pts
		if err != nil || f.Type != mvt.Point || len(pts) != 1 || min(pts[0].X, pts[0].Y) < 0 || max(pts[0].X, pts[0].Y) >= mvt.Extent {
			p.find(typ, ProblemLabel, t, region, "is not one point in the tile")
			continue
		}
		if bit := uint16(1) << t.Z; pt.labelled[region]&bit != 0 {
			p.find(typ, ProblemLabel, t, region, "has two labels at one zoom")
		} else {
			pt.labelled[region] |= bit
		}
		rank := int64(-1)
		_ = c.view.EachTag(f, func(key, value []byte) bool { // validated above
			if v, ok := mvt.NumberValue(value); ok && string(key) == "rank" {
				rank = int64(v)
			}
			return true
		})
		switch {
		case rank < 0:
			p.find(typ, ProblemLabel, t, region, "has no rank")
		case pt.rank[region] >= 0 && pt.rank[region] != rank:
			p.find(typ, ProblemLabel, t, region, "has the ranks %d and %d", pt.rank[region], rank)
		default:
			pt.rank[region] = rank
		}
		if t.Z == grid.MaxZoom {
			pt.deepest = append(pt.deepest, labelAt{region, t, pts[0].X, pts[0].Y})
		}
	}
}
