package httpapi

import "quadrille/cmd/tileserver/internal/airport"

func init() {
	register(Face{
		Name:  "airport",
		Order: 70,
		Kinds: airport.Kinds,
		List:  &airport.List,
		New:   func(p *Parts) Handlers { return airport.New(p.Kit) },
	})
}
