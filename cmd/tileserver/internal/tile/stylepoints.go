package tile

import (
	"context"
	"errors"
	"slices"
	"strings"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/web"
)

// everything is the layer set of a style that names no layers: "all" and the collections
// of points that all may see.
func (s *Room) everything(ctx context.Context, v *view) (*layerSet, error) {
	set, err := s.resolveLayers(ctx, v, allLayers)
	collections := v.pinPublic()
	switch {
	case collections == nil:
		return set, err
	case errors.Is(err, ask.ErrMissing):
		set = &layerSet{hash: web.HashStart}
	case err != nil:
		return nil, err
	}
	both := set.with(slices.Concat(set.points, collections))
	both.hash = set.hash
	for _, name := range collections {
		both.hash = both.hash.Bytes(strings.TrimPrefix(name, ask.PointsPrefix))
	}
	return both, nil
}

// sources are the sources of a style. Layers without a knownLayer have their own, since
// their tiles are deeper than those of others, and may change while those do not.
func sources(set *layerSet, base string) map[string]styleSource {
	all := map[string]styleSource{}
	well, others := set.known()
	if list := set.with(well).canonical; list != "" {
		all[styleSourceName] = styleSource{Type: "vector", URL: base + "/tiles/" + escapeLayers(list) + ".json"}
	}
	for _, name := range others {
		all[name] = styleSource{Type: "vector", URL: base + "/tiles/" + escapeLayers(name) + ".json"}
	}
	return all
}

// clustered tells clusters from points.
var clustered = []any{"==", []any{"get", "cluster"}, true}

// ofPoints returns a layer of a style that draws the points of a layer, or its clusters.
// Its id has an end that the name of a layer cannot have.
func ofPoints(name, ending, kind string, clusters bool) styleLayer {
	l := of(name, name+ending, kind)
	l.Source = name
	l.Filter = clustered
	if !clusters {
		l.Filter = []any{"!", clustered}
	}
	return l
}

// dots draws points; number chooses the colour of the layer.
func (p *palette) dots(name string, number int) styleLayer {
	l := ofPoints(name, "", "circle", false)
	l.Paint["circle-color"] = p.colour(number)
	l.Paint["circle-radius"] = byZoom(3, 3, 14, 6)
	l.Paint["circle-stroke-color"] = p.Map.PointsRim.CSS()
	l.Paint["circle-stroke-width"] = 1
	return l
}

func (p *palette) colour(number int) string { return p.Map.Points[number%len(p.Map.Points)].CSS() }

// clusters draws discs, larger ones for more points.
func (p *palette) clusters(name string, number int) styleLayer {
	l := ofPoints(name, ":cluster", "circle", true)
	size := []any{"log10", []any{"max", []any{"get", "point_count"}, 1}}
	l.Paint["circle-color"] = p.colour(number)
	l.Paint["circle-opacity"] = 0.85
	l.Paint["circle-radius"] = []any{"interpolate", []any{"linear"}, size, 0, 7, 5, 19}
	l.Paint["circle-stroke-color"] = p.Map.PointsRim.CSS()
	l.Paint["circle-stroke-width"] = 1.5
	return l
}

// nameOfPoint writes the names of points below their dots.
func (p *palette) nameOfPoint(name string) styleLayer {
	l := ofPoints(name, ":label", "symbol", false)
	l.MinZoom = 8
	l.Layout = map[string]any{
		"text-field": []any{"to-string", []any{"coalesce", []any{"get", "name"}, ""}}, "text-size": 11, "text-max-width": 8,
		"text-anchor": "top", "text-offset": []float64{0, 0.6}, "text-optional": true,
	}
	l.Paint = map[string]any{"text-color": p.Label.City.CSS(), "text-halo-color": p.Label.Halo.CSS(), "text-halo-width": 1.2}
	return l
}

// countOfCluster writes how many points a cluster stands for onto its disc.
func (p *palette) countOfCluster(name string) styleLayer {
	l := ofPoints(name, ":count", "symbol", true)
	count := []any{"get", "point_count"}
	short := []any{"concat", []any{"to-string", []any{"round", []any{"/", count, 1000}}}, "k"}
	l.Layout = map[string]any{
		"text-field": []any{"case", []any{">=", count, 10000}, short, []any{"to-string", count}},
		"text-size":  11, "symbol-sort-key": []any{"-", count},
	}
	l.Paint = map[string]any{"text-color": p.Map.PointsCount.CSS()}
	return l
}
