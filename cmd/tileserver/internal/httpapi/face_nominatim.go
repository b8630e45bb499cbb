package httpapi

import "quadrille/cmd/tileserver/internal/nominatim"

func init() {
	register(Face{Name: "nominatim", Order: 140, Rooted: true, New: func(p *Parts) Handlers { return nominatim.New(p.Kit) }})
}
