package hierarchy

import (
	"errors"

	"quadrille/ask"
)

// GenerationIDs returns the generation numbers that answers depend on, followed by 1 if
// Sets.CountryByMap is set. Views with equal GenerationIDs give equal answers.
func GenerationIDs(v ask.View) []uint64 {
	ids := []uint64{v.Places.ID, v.Names.ID, v.Boundaries.ID}
	if v.Sets().CountryByMap {
		ids = append(ids, 1)
	}
	return ids
}

// ViewOf returns the view of the published data sets. A data set that cannot be read gives an
// error, because it may hold the answer.
func ViewOf(v ask.View) (h View, err error) {
	h = View{Layers: ask.Memory[Layers](v), CountryByMap: v.Sets().CountryByMap,
		Generations: Generations{v.Places.ID, v.Names.ID, v.Boundaries.ID}}
	var errs [3]error
	h.Places, _, errs[0] = v.Places.GetIfPublished()
	h.Names, _, errs[1] = v.Names.GetIfPublished()
	h.Boundaries, _, errs[2] = v.Boundaries.GetIfPublished()
	return h, errors.Join(errs[:]...)
}
