package httpapi

import "quadrille/cmd/tileserver/internal/station"

func init() {
	register(Face{Name: "station", Order: 90, List: &station.List, New: func(p *Parts) Handlers { return station.New(p.Kit) }})
}
