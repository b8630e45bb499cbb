package export

import (
	"context"
	"errors"
	"iter"
	"math"
	"slices"

	"quadrille/ask"
	"quadrille/cmd/internal/pmtiles"
	"quadrille/feature"
	"quadrille/internal/extsort"
	"quadrille/quadkey"
	"quadrille/tiles/layertile"
)

// overlay has the layers of points of an archive, as the server's tiles have them. It implements
// tiles.Overlay for walks from the lowest zoom to the deepest, and belongs to one goroutine.
type overlay struct {
	layers []*ask.Layer
	layertile.Options
	sorted *extsort.Sorter // the ids of the tiles that may show something
	next   func() (id uint64, err error, ok bool)
	stop   func()
	id     uint64 // the first one that the walk has not passed; 0 before it is read, math.MaxUint64 behind the last
}

// clusterReach is the part of a tile's side within which a cluster has a point: twice what it is, and the same for
// all layers. So a cluster may be in a tile that holds none of its points.
const clusterReach = 1. / 8

// errEnded ends the reading of sorted tiles.
var errEnded = errors.New("ended")

// overlayOf reads where the features of an export are, and sorts their tiles. The caller must
// close the result.
func overlayOf(ctx context.Context, o Options) (_ *overlay, err error) {
	over := &overlay{layers: o.Points, Options: o.tile(), sorted: extsort.New(o.Dir, o.Memory), stop: func() {}}
	defer func() {
		if err != nil {
			_ = over.Close() // the first error says why
		}
	}()
	var recent [quadkey.MaxZoom + 1][8]uint64 // neighbours in the order of a layer are so in the grid
	add := func(x, y float64, zoom int) error {
		n := float64(uint64(1) << zoom)
		x, y = math.Floor(x), min(max(math.Floor(y), 0), n-1)
		x -= n * math.Floor(x/n) // the grid closes at ±180°
		id := pmtiles.TileID(quadkey.Tile{Z: uint8(zoom), X: uint32(x), Y: uint32(y)})
		known := &recent[zoom]
		if slices.Contains(known[:], id+1) {
			return nil
		}
		copy(known[1:], known[:])
		known[0] = id + 1
		return over.sorted.Add(id, nil)
	}
	for _, l := range o.Points {
		for f, err := range l.Features(ctx, &feature.Query{Detail: feature.WithoutGeometry}) {
			if err != nil {
				return nil, err
			}
			x, y := quadkey.Project(f.Lon, f.Lat)
			for zoom := o.MinZoom; zoom <= o.MaxZoom; zoom++ {
				n := float64(uint64(1) << zoom)
				for _, dx := range [2]float64{-clusterReach, clusterReach} {
					for _, dy := range [2]float64{-clusterReach, clusterReach} {
						if err := add(x*n+dx, y*n+dy, zoom); err != nil {
							return nil, err
						}
					}
				}
			}
		}
	}
	over.next, over.stop = iter.Pull2(func(yield func(uint64, error) bool) {
		err := over.sorted.Each(func(id uint64, _ []byte) error {
			if !yield(id, nil) {
				return errEnded
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnded) {
			yield(0, err)
		}
	})
	return over, nil
}

// Close removes what was sorted.
func (o *overlay) Close() error {
	o.stop()
	return o.sorted.Close()
}

// Any implements tiles.Overlay.
func (o *overlay) Any(_ context.Context, t quadkey.Tile, zoom uint8) (bool, error) {
	down := 2 * (zoom - t.Z)
	first := pmtiles.ZoomStart(zoom) + t.Hilbert()<<down
	for o.id < first {
		id, err, ok := o.next()
		if err != nil {
			return false, err
		}
		if o.id = id; !ok {
			o.id = math.MaxUint64
		}
	}
	return o.id-first < 1<<down, nil
}

// Append implements tiles.Overlay.
func (o *overlay) Append(ctx context.Context, dst []byte, t quadkey.Tile) ([]byte, error) {
	if shows, err := o.Any(ctx, t, t.Z); err != nil || !shows {
		return dst, err
	}
	for _, l := range o.layers {
		from, err := l.Tiler()
		if err == nil {
			dst, err = layertile.AppendMVT(ctx, dst, &l.LayerInfo, from, t, o.Options)
		}
		if err != nil {
			return dst, err
		}
	}
	return dst, nil
}
