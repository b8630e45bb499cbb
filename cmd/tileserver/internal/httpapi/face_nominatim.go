package httpapi

import "quadrille/cmd/tileserver/internal/nominatim"

func init() {
	register(Face{Name: "nominatim", At: 140, Root: true, New: func(p *Parts) Handlers { return nominatim.New(p.Kit) }})
}
