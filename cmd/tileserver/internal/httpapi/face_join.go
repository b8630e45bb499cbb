package httpapi

import "quadrille/cmd/tileserver/internal/join"

func init() {
	register(Face{Name: "join", Order: 41, New: func(p *Parts) Handlers { return join.New(p.Kit, p.Batch) }})
}
