package httpapi

import "quadrille/cmd/tileserver/internal/geocode"

func init() {
	register(Face{Name: "geocode", Order: 60, New: func(p *Parts) Handlers { return geocode.New(p.Kit, p.Batch) }})
}
