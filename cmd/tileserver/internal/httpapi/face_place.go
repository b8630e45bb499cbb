package httpapi

import "quadrille/cmd/tileserver/internal/place"

func init() {
	register(Face{Name: "place", Order: 50, List: &place.List, New: func(p *Parts) Handlers {
		return place.New(p.Kit, p.Config.ResponseCacheBytes/8)
	}})
}
