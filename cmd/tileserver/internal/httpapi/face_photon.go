package httpapi

import "quadrille/cmd/tileserver/internal/photon"

func init() {
	register(Face{Name: "photon", At: 130, Root: true, New: func(p *Parts) Handlers { return photon.New(p.Kit) }})
}
