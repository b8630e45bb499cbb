package httpapi

import "quadrille/cmd/tileserver/internal/region"

func init() {
	register(Face{Name: "region", Order: 30, New: func(p *Parts) Handlers { return region.New(p.Kit) }})
}
