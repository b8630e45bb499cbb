package tiles

import (
	"math"

	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/sphere"
)

// surface maps the coordinates of a row to the unit sphere.
type surface interface {
	at(x, y float64) sphere.Vec
	// bend bounds the distance of the image of a straight edge from the chord between its ends. An
	// arc γ(t) with t from 0 to 1 stays within max|γ″|/8.
	bend(e plain) float64
}

const unitAngle = 2 * math.Pi / grid.WorldSize // radians of longitude in a unit

// tileEdges maps the edges of the tile whose north-west corner is x0, y0 to the sphere.
type tileEdges struct{ x0, y0 float64 }

func (t *tileEdges) at(x, y float64) sphere.Vec {
	sin, cos := mercatorSincos(t.y0 + y)
	return sphere.On((t.x0+x)*unitAngle-math.Pi, sin, cos)
}

// mercatorSincos returns sine and cosine of the latitude at y: the hyperbolic
// tangent and secant of y as a Mercator angle.
func mercatorSincos(y float64) (sin, cos float64) {
	e := math.Exp(math.Pi - y*unitAngle)
	return (e*e - 1) / (e*e + 1), 2 * e / (e*e + 1)
}

// Mercator stretches both axes by 1/cos φ. The second derivatives of the sphere
// in λ and in the Mercator angle ψ have length cos φ or less, so |γ″| ≤ cos
// φ·(|λ′|+|ψ′|)².
func (t *tileEdges) bend(e plain) float64 {
	// The equator is a tile line, so no edge of a tile crosses it. The widest
	// parallel is therefore at the end nearer to the equator.
	y := e.ay
	if south := t.y0 >= grid.WorldSize/2; (e.by < y) == south {
		y = e.by
	}
	_, cos := mercatorSincos(t.y0 + y)
	l := (math.Abs(e.bx-e.ax) + math.Abs(e.by-e.ay)) * unitAngle
	return cos * l * l / 8
}

// polarEdges maps the edges of a polar row, in plate carrée, whose first line
// is y0.
type polarEdges struct{ y0 float64 }

func (p *polarEdges) at(x, y float64) sphere.Vec {
	lat := math.Pi/2 - (p.y0+y)*unitAngle
	cos := math.Sin((p.y0 + y) * unitAngle)
	if lat < 0 {
		cos = math.Sin((grid.WorldSize/2 - p.y0 - y) * unitAngle)
	}
	return sphere.On(x*unitAngle-math.Pi, math.Sin(lat), cos)
}

// In plate carrée |γ″| ≤ φ′² + 2|φ′λ′| + cos φ·λ′².
func (p *polarEdges) bend(e plain) float64 {
	widest := max(math.Sin((p.y0+e.ay)*unitAngle), math.Sin((p.y0+e.by)*unitAngle))
	dx, dy := math.Abs(e.bx-e.ax)*unitAngle, math.Abs(e.by-e.ay)*unitAngle
	return (dy*dy + 2*dx*dy + widest*dx*dx) / 8
}
