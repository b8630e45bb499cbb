package httpapi

import "quadrille/cmd/tileserver/internal/ip"

func init() {
	register(Face{Name: "ip", Order: 100, Kinds: ip.Kinds, New: func(p *Parts) Handlers {
		return ip.New(p.Kit, ip.Config{Batch: p.Batch, StreamTimeout: p.Config.BatchTimeout})
	}})
}
