package httpapi

import "quadrille/cmd/tileserver/internal/geonames"

func init() {
	register(Face{Name: "geonames", At: 110, New: func(p *Parts) Room { return geonames.New(p.Kit) }})
}
