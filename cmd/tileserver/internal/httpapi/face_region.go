package httpapi

import "quadrille/cmd/tileserver/internal/region"

func init() {
	register(Face{Name: "region", At: 30, New: func(p *Parts) Handlers { return region.New(p.Kit) }})
}
