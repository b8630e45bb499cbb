package ask

import (
	"errors"
	"fmt"

	"quadrille/cellstore/dataset"
	"quadrille/feature"
)

// Tiled is a layer of points with tiles, held for a question, or the reason why it cannot be
// read. Taking it costs less than taking a Layer. The caller releases it.
type Tiled struct {
	Name string
	Err  error
	ID   uint64 // of the generation, for keys and tags
	Live bool   // its answers hold for this moment only and may not be kept
	held held
}

// held is a layer and what keeps it open.
type held interface {
	tiler() feature.Tiler
	Manifest() *dataset.Manifest
	Release()
}

type heldLayer[T feature.Layer] struct{ *dataset.Handle[T] }

func (h heldLayer[T]) tiler() feature.Tiler { return any(h.Value()).(feature.Tiler) }

type heldCollection struct {
	PinnedCollection
	Collection
}

func (h *heldCollection) tiler() feature.Tiler { return h.Collection }

func (h *heldCollection) Manifest() *dataset.Manifest {
	if h.Handle == nil {
		return nil
	}
	return h.Handle.Manifest()
}

// Get returns the layer, or why it cannot be read.
func (t *Tiled) Get() (feature.Tiler, error) {
	if t.held == nil {
		return nil, t.Err
	}
	return t.held.tiler(), nil
}

// Manifest returns the manifest of the generation, or nil without a generation.
func (t *Tiled) Manifest() *dataset.Manifest {
	if t.held == nil {
		return nil
	}
	return t.held.Manifest()
}

// Release gives the layer back. It is called once.
func (t *Tiled) Release() {
	if t.held != nil {
		t.held.Release()
	}
}

// PinTiled appends the layers of points that are one data set and have tiles, in the order in
// which they are listed, published or not. Without a list each is of the newest generation.
// With a list each is of the generation with the number at its place; 0, and what the list
// lacks, stand for none.
func (s *Sets) PinTiled(dst []Tiled, generations []uint64) []Tiled {
	n := 0
	for _, kinds := range [...][]LayerKind{layerKinds, s.More} {
		for i := range kinds {
			if kinds[i].tiled == nil {
				continue
			}
			var generation *uint64
			if generations != nil {
				generation = new(uint64)
				if n < len(generations) {
					*generation = generations[n]
				}
			}
			dst = append(dst, Tiled{})
			kinds[i].tiled(s, generation, &dst[len(dst)-1])
			n++
		}
	}
	return dst
}

// TiledNames are the names of the layers of PinTiled.
func (s *Sets) TiledNames() (names []string) {
	for _, t := range s.PinTiled(nil, []uint64{}) {
		names = append(names, t.Name)
	}
	return names
}

// PinTiled takes a collection that all may see. The error matches ErrNoLayer if there is
// none, or it is private.
func (c *Collections) PinTiled(name string) (Tiled, error) {
	p := c.Pin(name)
	of, err := p.Get()
	if err == nil && !of.Info().Private {
		return Tiled{Name: PointsPrefix + name, ID: p.ID, Live: p.Live != nil, held: &heldCollection{p, of}}, nil
	}
	p.Release()
	if errors.Is(err, ErrFailed) && !OfPrivate(err) {
		return Tiled{}, err
	}
	return Tiled{}, fmt.Errorf("%w: %.60q", ErrNoLayer, PointsPrefix+name)
}
