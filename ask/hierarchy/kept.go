package hierarchy

import (
	"context"
	"slices"
	"sync/atomic"

	"quadrille/ask"
	"quadrille/places"
	"quadrille/places/names"
)

const (
	// keptBits is the binary logarithm of the number of cached places: some 3 MB.
	keptBits = 13
	// maxKept is the size of the longest list of regions that is cached, in bytes.
	maxKept = 1 << 10
)

// Generations has the numbers of the generations of the data sets of a View.
type Generations struct{ Places, Names, Boundaries uint64 }

// kept is a cache by place. A place displaces another one in its slot. Generations never change, so
// entries stay right.
type kept[T any] [1 << keptBits]atomic.Pointer[keptPlace[T]]

type keptPlace[T any] struct {
	id    uint32
	made  Generations
	byMap bool
	is    T
}

// slot returns the slot of a place.
func (k *kept[T]) slot(id uint32) *atomic.Pointer[keptPlace[T]] {
	return &k[id*0x9e3779b9>>(32-keptBits)]
}

func (k *kept[T]) get(v *View, id uint32) (is T, ok bool) {
	if p := k.slot(id).Load(); p != nil && p.id == id && p.made == v.Generations && p.byMap == v.CountryByMap {
		return p.is, true
	}
	return is, false
}

func (k *kept[T]) put(v *View, id uint32, is T) {
	k.slot(id).Store(&keptPlace[T]{id, v.Generations, v.CountryByMap, is})
}

// divisions has the codes of divisions in a place's row.
type divisions struct{ admin2, admin3 string }

// city is the city of a section, if it has one.
type city struct {
	hit   places.Hit
	known bool
}

// ParentsOf returns the regions that a place is in, the smallest first: the regions that hold it,
// without those that its row contradicts. The caller owns the list.
func (v *View) ParentsOf(ctx context.Context, p *places.Hit) ([]names.Parent, error) {
	if v.Boundaries == nil {
		return nil, nil
	}
	of := &v.Layers.of
	if list, ok := of.get(v, p.ID); ok {
		return slices.Clone(list), nil
	}
	list, err := v.find(ctx, p)
	if err != nil {
		return nil, err
	}
	bytes := 0
	for i := range list {
		bytes += len(list[i].Type) + len(list[i].ID) + len(list[i].Name)
	}
	if bytes <= maxKept {
		of.put(v, p.ID, slices.Clone(list))
	}
	return list, nil
}

// City returns the city that a section belongs to: the place with the most people among the places
// near the section whose rows have the same divisions. ok is false if there is none, or if the
// place is not a section of a city.
func (v *View) City(ctx context.Context, p *places.Hit) (hit places.Hit, ok bool, err error) {
	if p.Code != section {
		return hit, false, nil
	}
	cities := &v.Layers.cities
	if c, ok := cities.get(v, p.ID); ok {
		return c.hit, c.known, nil
	}
	if hit, ok, err = v.city(ctx, p); err == nil {
		cities.put(v, p.ID, city{hit, ok})
	}
	return hit, ok, err
}

// divisions returns the codes of the second and third-level divisions of a place, or "" where its
// row has none.
func (v *View) divisions(ctx context.Context, id uint32) (d divisions, err error) {
	if v.Places == nil {
		return d, nil
	}
	all := &v.Layers.divisions
	if d, ok := all.get(v, id); ok {
		return d, nil
	}
	if d.admin2, d.admin3, err = v.Places.DivisionCodes(ctx, id); err != nil {
		return d, ask.NotFoundAsDamage(err)
	}
	all.put(v, id, d)
	return d, nil
}
