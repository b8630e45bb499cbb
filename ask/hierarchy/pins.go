package hierarchy

import (
	"errors"

	"quadrille/ask"
)

// Sets are the data sets, and what is remembered about places. A program shares one, which may
// be used concurrently.
type Sets struct {
	ask.Sets
	layers Layers
}

// Pins are the generations that a View is made of. The caller that takes them releases them;
// until then several goroutines may ask them.
type Pins struct {
	Places     ask.Pinned[ask.Places]
	Names      ask.Pinned[ask.Names]
	Boundaries ask.Pinned[ask.Boundaries]
	layers     *Layers
	byMap      bool
}

// Pin takes a generation of each data set.
func (s *Sets) Pin() Pins {
	return Pins{ask.Pin(s.Places), ask.Pin(s.Names), ask.Pin(s.Boundaries), &s.layers, s.CountryByMap}
}

// Release gives the generations back.
func (p *Pins) Release() {
	p.Places.Release()
	p.Names.Release()
	p.Boundaries.Release()
}

// IDs are the generations from which answers are made, and whether the map decides about
// countries. Pins with equal IDs give equal answers.
func (p *Pins) IDs() []uint64 {
	ids := []uint64{p.Places.ID, p.Names.ID, p.Boundaries.ID}
	if p.byMap {
		ids = append(ids, 1)
	}
	return ids
}

// View returns a view of the data sets that are published. A data set that cannot be read is
// an error: it may hold the answer.
func (p *Pins) View() (v View, err error) {
	v = View{Layers: p.layers, ByMap: p.byMap, Generations: Generations{p.Places.ID, p.Names.ID, p.Boundaries.ID}}
	var errs [3]error
	v.Places, _, errs[0] = p.Places.Have()
	v.Names, _, errs[1] = p.Names.Have()
	v.Boundaries, _, errs[2] = p.Boundaries.Have()
	return v, errors.Join(errs[:]...)
}
