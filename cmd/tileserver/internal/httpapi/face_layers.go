package httpapi

import "quadrille/cmd/tileserver/internal/layers"

func init() {
	register(Face{Name: "layers", Order: 43, New: func(p *Parts) Handlers {
		return layers.New(p.Kit, layers.Config{Lists: p.Lists, StreamTimeout: p.Config.BatchTimeout, MayRead: p.Kit.MayReadCollection})
	}})
}
