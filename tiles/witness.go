package tiles

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/paulmach/orb"
	"golang.org/x/sync/errgroup"

	"quadrille/quadkey"
)

// Witnesses are points of which the source says whether they lie in a region.
// They are chosen and judged before anything is computed of borders, in degrees
// and ring by ring, and kept with the region's record. By them Verify notices
// when a build loses area that its source draws, or adds some, which rows that
// agree with each other do not show.

const (
	// Each region has so many witnesses, fewer where there are very many
	// regions or vertices.
	mostWitnesses  = 48
	allWitnesses   = 1 << 19
	witnessEffort  = 1 << 30 // vertices times witnesses of one region
	witnessTries   = 3       // points tried for each witness
	witnessDegrees = 1e7     // steps of a coordinate in a degree

	// Rounding moves a border by a few units of the grid. Points nearer to one
	// bear witness to nothing.
	witnessMargin = 8 * 360.0 / worldSize
)

// witness is a point, in steps.
type witness struct {
	lon, lat int32
	inside   bool
}

func (w witness) degrees() (lon, lat float64) {
	return float64(w.lon) / witnessDegrees, float64(w.lat) / witnessDegrees
}

// appendTo appends eight bytes: the longitude, and the latitude with the answer
// as its last bit.
func (w witness) appendTo(dst []byte) []byte {
	lat := w.lat << 1
	if w.inside {
		lat |= 1
	}
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(dst, uint32(w.lon)), uint32(lat))
}

func parseWitnesses(b []byte) ([]witness, error) {
	if len(b)%8 != 0 {
		return nil, fmt.Errorf("%w: source points of %d bytes", ErrCorrupt, len(b))
	}
	out := make([]witness, 0, len(b)/8)
	for ; len(b) > 0; b = b[8:] {
		lat := int32(binary.BigEndian.Uint32(b[4:]))
		out = append(out, witness{int32(binary.BigEndian.Uint32(b)), lat >> 1, lat&1 != 0})
	}
	return out, nil
}

// sourceRing is a ring with the box around it.
type sourceRing struct {
	points                   ring
	hole                     bool
	first                    int // number of its first vertex among all of the region
	west, south, east, north float64
}

// appendWitnesses appends witnesses of a region among so many. The same seed
// gives the same ones.
func appendWitnesses(dst []byte, polygons [][]ring, regions int, seed uint64) []byte {
	var rings []sourceRing
	vertices := 0
	for _, p := range polygons {
		for i, r := range p {
			s := sourceRing{r, i > 0, vertices, math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
			for _, q := range r {
				s.west, s.east = min(s.west, q[0]), max(s.east, q[0])
				s.south, s.north = min(s.south, q[1]), max(s.north, q[1])
			}
			vertices += len(r)
			rings = append(rings, s)
		}
	}
	if vertices == 0 {
		return dst
	}
	want := min(mostWitnesses, max(2, allWitnesses/regions), max(2, witnessEffort/vertices))
	rnd := rand.New(rand.NewPCG(seed, 0))
	for tries := want * witnessTries; tries > 0 && want > 0; tries-- {
		p := somewhere(rings, vertices, rnd)
		p[0] -= 360 * math.Floor((p[0]+180)/360)
		w := witness{lon: int32(math.Round(p[0] * witnessDegrees)), lat: int32(math.Round(p[1] * witnessDegrees))}
		var sure bool
		if w.inside, sure = judge(rings, w); sure {
			dst = w.appendTo(dst)
			want--
		}
	}
	return dst
}

// somewhere returns a point near a ring: in half as large a box again, or in the triangle
// of three of its vertices, neighbours or not, as lobes are. Rings of many vertices
// come more often, and small ones too.
func somewhere(rings []sourceRing, vertices int, rnd *rand.Rand) orb.Point {
	r := &rings[rnd.IntN(len(rings))]
	if rnd.IntN(2) == 0 {
		v := rnd.IntN(vertices)
		r = &rings[sort.Search(len(rings), func(i int) bool { return rings[i].first > v })-1]
	}
	n := len(r.points)
	i := rnd.IntN(n)
	var a, b, c orb.Point
	switch rnd.IntN(4) {
	case 0:
		return orb.Point{
			r.west + (rnd.Float64()*1.5-0.25)*(r.east-r.west),
			max(-90, min(90, r.south+(rnd.Float64()*1.5-0.25)*(r.north-r.south))),
		}
	case 1:
		a, b, c = r.points[i], r.points[rnd.IntN(n)], r.points[rnd.IntN(n)]
	default:
		a, b, c = r.points[i], r.points[(i+1)%n], r.points[(i+2)%n]
	}
	s, t := rnd.Float64(), rnd.Float64()
	if s+t > 1 {
		s, t = 1-s, 1-t
	}
	return orb.Point{a[0] + s*(b[0]-a[0]) + t*(c[0]-a[0]), a[1] + s*(b[1]-a[1]) + t*(c[1]-a[1])}
}

// judge says whether a witness lies in the polygons of which these are the rings,
// each shell before its holes: whether some shell winds around it and no hole of
// that shell does. It is not sure near an edge.
func judge(rings []sourceRing, w witness) (inside, sure bool) {
	lon, lat := w.degrees()
	if math.Abs(lat) > 90-witnessMargin {
		return false, false
	}
	shell := false // of the polygon at hand, less its holes
	for i := range rings {
		r := &rings[i]
		if !r.hole {
			inside, shell = inside || shell, false
		}
		if lat < r.south-witnessMargin || lat > r.north+witnessMargin {
			continue
		}
		// Longitudes run on, so a point has a place in each turn.
		x := lon + 360*math.Ceil((r.west-witnessMargin-lon)/360)
		for ; x <= r.east+witnessMargin; x += 360 {
			turns, near := r.points.turns(x, lat)
			if near {
				return false, false
			}
			if turns != 0 {
				shell = !r.hole
			}
		}
	}
	return inside || shell, true
}

// turns counts how often a ring winds around a point, and tells whether the point
// is too near to an edge to say.
func (r ring) turns(x, y float64) (turns int, near bool) {
	a := r[len(r)-1]
	for _, b := range r {
		if max(a[1], b[1])+witnessMargin >= y && min(a[1], b[1])-witnessMargin <= y && max(a[0], b[0])+witnessMargin >= x {
			// Twice the area of the triangle with the edge, positive when the
			// point is on its left.
			dx, dy := b[0]-a[0], b[1]-a[1]
			left := dx*(y-a[1]) - dy*(x-a[0])
			if min(a[0], b[0])-witnessMargin <= x && math.Abs(left) <= witnessMargin*math.Hypot(dx, dy) {
				return 0, true
			}
			if a[1] <= y && b[1] > y && left > 0 {
				turns++
			} else if a[1] > y && b[1] <= y && left < 0 {
				turns--
			}
		}
		a = b
	}
	return turns, false
}

// askWitnesses compares the answers of a reader with those of the sources.
func (p *checkPart) askWitnesses(ctx context.Context, r *Reader, workers int) error {
	const some = 64 // regions
	for i := range p.types {
		t := p.v.types[i]
		wrong := make([][]Example, len(t.ids))
		asked := make([]int64, len(t.ids))
		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(workers)
		for from := 0; from < len(t.ids); from += some {
			g.Go(func() error {
				for k := from; k < min(from+some, len(t.ids)); k++ {
					if err := gctx.Err(); err != nil {
						return err
					}
					var err error
					asked[k] = int64(len(t.witnesses[k]))
					if wrong[k], err = r.refuted(gctx, t.Name, t.ids[k], t.witnesses[k]); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		for k := range wrong {
			p.types[i].Witnesses += asked[k]
			for _, e := range wrong[k] {
				p.found.add(p.v.opts.Examples, i, t.Name, ProblemSource, e)
			}
		}
	}
	return nil
}

// refuted lists the witnesses of a region that its tiles contradict.
func (r *Reader) refuted(ctx context.Context, typ, id string, witnesses []witness) (wrong []Example, err error) {
	for _, w := range witnesses {
		lon, lat := w.degrees()
		at := fmt.Sprintf("the point at latitude %v, longitude %v", lat, lon)
		found, err := r.At(ctx, lat, lon, typ)
		answer := slices.ContainsFunc(found, func(g Region) bool { return g.ID == id })
		switch {
		case errors.Is(err, ErrCorrupt), errors.Is(err, quadkey.ErrCoordinate):
			at = fmt.Sprintf("%s cannot be asked for: %v", at, err)
		case err != nil:
			return nil, err
		case answer == w.inside:
			continue
		case w.inside:
			at += " is inside it in the source and outside in the tiles"
		default:
			at += " is outside it in the source and inside in the tiles"
		}
		e := Example{Region: id, Detail: at}
		if t, err := quadkey.TileAt(lon, lat, MaxZoom); err == nil {
			e.Tile = t.String()
		}
		wrong = append(wrong, e)
	}
	return wrong, nil
}
