package httpapi

import "quadrille/cmd/tileserver/internal/photon"

func init() {
	register(Face{Name: "photon", Order: 130, Rooted: true, New: func(p *Parts) Handlers { return photon.New(p.Kit) }})
}
