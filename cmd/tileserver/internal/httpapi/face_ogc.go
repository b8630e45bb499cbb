package httpapi

import (
	"quadrille/cmd/tileserver/internal/ogc"
	"quadrille/cmd/tileserver/internal/ogcapi"
)

func init() {
	register(Face{
		Name: "ogc", Order: 150,
		New: func(p *Parts) Handlers {
			var parts []ogcapi.Part
			for _, r := range p.Earlier {
				if r, ok := r.(interface{ OGCPart() ogcapi.Part }); ok {
					parts = append(parts, r.OGCPart())
				}
			}
			return ogc.New(p.Kit, ogc.Config{
				Parts: parts, CacheBytes: p.Config.ResponseCacheBytes / 4,
				Describe: func(server string) ([]byte, error) { return p.DescribeBelow("/ogc", server) },
			})
		},
	})
}
