package verify

import (
	"compress/gzip"

	"quadrille/cellstore"
	"quadrille/quadkey"
	"quadrille/tiles/internal/layout"
	"quadrille/tiles/mvt"
)

// budget checks the size of a tile's row after gzip: as a vector tile of all
// types, and as GeoJSON of all types.
func (p *checkPart) budget(t quadkey.Tile) {
	for _, form := range [2][]cellKind{{kindTile, kindLabel}, {kindFeature}} {
		var raw int64
		p.eachCell(form, func(c *cellstore.Cell) { raw += int64(len(c.Value)) })
		if raw <= p.v.budget {
			continue
		}
		var n counter
		z := gzip.NewWriter(&n)
		typ := 0
		p.eachCell(form, func(c *cellstore.Cell) {
			_, _ = z.Write(c.Value[1:]) // a counter does not fail
			typ = p.v.families[c.Family].typ
		})
		_ = z.Close()
		if int64(n) > p.v.budget {
			p.find(typ, ProblemBudget, t, -1, "has %d bytes after gzip, the budget is %d", n, p.v.budget)
		}
	}
}

// eachCell calls fn for the cells of the row that are not empty, except those of lines, which the
// budget does not bound.
func (p *checkPart) eachCell(kinds []cellKind, fn func(*cellstore.Cell)) {
	for i := range p.cells {
		if p.v.types[i].IsLines {
			continue
		}
		for _, k := range kinds {
			for _, c := range p.cells[i][k] {
				if len(c.Value) > 0 {
					fn(c)
				}
			}
		}
	}
}

// counter counts the bytes written to it.
type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

// merged checks the attribute with the number of regions that a polygon represents.
func (p *checkPart) merged(typ int, t quadkey.Tile, region int32, f mvt.Feature) {
	ct := p.v.types[typ]
	n := 0.0
	_ = p.tile.view.EachTag(f, func(key, value []byte) bool { // validated before
		if v, ok := mvt.NumberValue(value); ok && string(key) == layout.TagMerged {
			n = v
		}
		return true
	})
	if n > 0 {
		p.types[typ].merged[region] = true
	}
	switch {
	case n > float64(ct.records) || n != 0 && n < 2:
		p.find(typ, ProblemTile, t, region, "stands for %v regions", n)
	case n > 0 && int(t.Z) >= ct.MergedBelow():
		p.find(typ, ProblemZoom, t, region, "stands for %v regions at a zoom that shows each by itself", n)
	case n == 0 && int(region) >= ct.records:
		p.find(typ, ProblemTile, t, region, "does not say how many regions it stands for")
	}
}
