package httpapi

import "quadrille/cmd/tileserver/internal/point"

func init() {
	register(Face{Name: "point", Order: 40, New: func(p *Parts) Handlers { return point.New(p.Kit, p.Batch) }})
}
