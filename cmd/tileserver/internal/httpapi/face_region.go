package httpapi

import "quadrille/cmd/tileserver/internal/region"

func init() {
	register(Face{Name: "region", At: 30, New: func(p *Parts) Room { return region.New(p.Kit) }})
}
