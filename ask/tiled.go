package ask

import (
	"errors"
	"fmt"
	"iter"

	"quadrille/cellstore/dataset"
	"quadrille/feature"
)

// Tiled is a layer of points that has tiles, held for a question, or the reason why it cannot
// be read. It costs less to take than a Layer. Release it.
type Tiled struct {
	Name string
	Err  error
	ID   uint64 // of the generation, for keys and tags
	Live bool   // its answers are of the moment and may not be kept
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

// Manifest is that of the generation, nil where there is none.
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

// tiledKinds are the kinds of one layer that has tiles.
func (s *Sets) tiledKinds() iter.Seq[*LayerKind] {
	return func(yield func(*LayerKind) bool) {
		for _, kinds := range [...][]LayerKind{layerKinds, s.More} {
			for i := range kinds {
				if kinds[i].tiled != nil && !yield(&kinds[i]) {
					return
				}
			}
		}
	}
}

// TiledNames are the layers of points that are one data set and have tiles, published or not,
// in the order in which they are listed. Addresses of tiles name generations in this order.
func (s *Sets) TiledNames() (names []string) {
	for kind := range s.tiledKinds() {
		names = append(names, kind.name)
	}
	return names
}

// PinTiled appends the layers of TiledNames, each of the newest generation.
func (s *Sets) PinTiled(dst []Tiled) []Tiled {
	for kind := range s.tiledKinds() {
		dst = append(dst, kind.tiled(s, nil))
	}
	return dst
}

// PinTiledOf is PinTiled of the generations with these numbers; 0, and what the list lacks,
// stands for none.
func (s *Sets) PinTiledOf(dst []Tiled, generations []uint64) []Tiled {
	i := 0
	for kind := range s.tiledKinds() {
		var generation uint64
		if i < len(generations) {
			generation = generations[i]
		}
		dst = append(dst, kind.tiled(s, &generation))
		i++
	}
	return dst
}

// PinTiled takes a collection if all may see it. The error of one that is not there, or is
// private, matches ErrNoLayer.
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
