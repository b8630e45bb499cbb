// Package tally groups features by the regions and other areas that hold them.
package tally

import (
	"context"
	"errors"
	"time"

	"quadrille/ask"
	"quadrille/feature"
	"quadrille/internal/jsontext"
	"quadrille/quadkey"
	"quadrille/tiles"
)

// ByArea returns a feature.Placer by the regions of a type, or by the features of another layer of
// areas. Where several hold a position, it is in the group of the smallest, so that every feature is
// in one group. The type must exist, see ask.Ground.Check. The view must not be released while the
// Placer is used. Errors are those of ask.Moment.Ground and tiles.Reader.PointJoin, which matches
// tiles.ErrUnknownType for a type of lines.
func ByArea(v ask.View, typ string) (feature.Placer, error) {
	g, err := v.Ground(typ)
	if err != nil {
		return nil, err
	}
	p := &areas{ground: g, typ: typ, numbers: map[string]uint32{}}
	if r := g.Regions(typ); r != nil {
		p.join, err = r.PointJoin(typ)
	}
	return p, err
}

// areas implements feature.Placer.
type areas struct {
	ground  *ask.Ground
	typ     string
	join    *tiles.PointJoin // nil for areas that are no regions
	answers []int32
	known   []uint32          // groups by answer of join, 0 where not known
	numbers map[string]uint32 // groups by id
	list    []tiles.Region
}

// Place implements feature.Placer.
func (p *areas) Place(ctx context.Context, at []quadkey.Position, groups []uint32) error {
	if p.join == nil {
		for i, pos := range at {
			found, err := p.ground.At(ctx, pos.Lat, pos.Lon, p.typ)
			if err != nil {
				return err
			}
			groups[i] = p.group(found)
		}
		return nil
	}
	if len(p.answers) < len(at) {
		p.answers = make([]int32, len(at))
	}
	answers := p.answers[:len(at)]
	if err := p.join.Find(ctx, at, [][]int32{answers}); err != nil {
		return err
	}
	for answer := len(p.known); answer < p.join.Answers(0); answer++ {
		p.known = append(p.known, p.group(p.join.Regions(0, int32(answer)))) //nolint:gosec // one of the join
	}
	for i, answer := range answers {
		if groups[i] = 0; answer > 0 {
			groups[i] = p.known[answer]
		}
	}
	return nil
}

// group returns the group of a position that areas hold, the smallest first.
func (p *areas) group(found []tiles.Region) uint32 {
	if len(found) == 0 {
		return 0
	}
	n, ok := p.numbers[found[0].ID]
	if !ok {
		p.list = append(p.list, found[0])
		n = uint32(len(p.list)) //nolint:gosec // as many as areas
		p.numbers[found[0].ID] = n
	}
	return n
}

// Value implements feature.Placer with the id.
func (p *areas) Value(group uint32) []byte { return jsontext.AppendString(nil, p.list[group-1].ID) }

// Name implements feature.NamedPlacer.
func (p *areas) Name(group uint32) string { return p.list[group-1].Name }

// Outline implements feature.OutlinedPlacer. A live area that is gone has no geometry.
func (p *areas) Outline(ctx context.Context, group uint32, f *feature.Feature) error {
	id := p.list[group-1].ID
	err := p.ground.Layers(p.typ)[0].Get(ctx, id, time.Time{}, f)
	if p.join == nil && errors.Is(err, feature.ErrNotFound) {
		f.Bounds, f.Geometry, err = quadkey.Box{}, feature.NoGeometry, nil
	}
	f.ID, f.Properties = p.typ+":"+id, feature.Properties{}
	return err
}
