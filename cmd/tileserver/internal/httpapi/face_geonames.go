package httpapi

import "quadrille/cmd/tileserver/internal/geonames"

func init() {
	register(Face{Name: "geonames", Order: 110, New: func(p *Parts) Handlers { return geonames.New(p.Kit) }})
}
