package tile

import (
	"context"
	"errors"
	"slices"
	"strings"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/web"
)

// everything returns the layer set of a style that names no layers: "all" and the public
// collections of points.
func (s *Handlers) everything(ctx context.Context, v *view) (*layerSet, error) {
	set, err := s.resolveLayers(ctx, v, allLayers)
	collections := v.addPublic()
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

// sources returns the sources of a style. Types, and layers of points with a look, have the sources
// of palette.source. Each other layer has a separate source, because its tiles are deeper and may
// change at other times.
func (p *palette) sources(set *layerSet, base string, how styling) map[string]styleSource {
	lists := map[string][]string{}
	add := func(source, layer string) { lists[source] = append(lists[source], layer) }
	for _, region := range set.regions {
		typ, _, _ := strings.Cut(region, ":")
		add(p.source(typ), region)
	}
	for _, name := range set.points {
		add(p.source(name), name)
	}
	all := map[string]styleSource{}
	for id, list := range lists {
		source := styleSource{Type: "vector"}
		file := ".json"
		if how.encoding == mltEncoding {
			file, source.Encoding = mltFile+file, mltEncoding
		}
		if strings.HasPrefix(id, styleSourceName) {
			file = with(file, "names", how.lang)
		}
		if set.with(slices.DeleteFunc(slices.Clone(list), func(name string) bool { return !slices.Contains(set.points, name) })).doubles {
			file = with(file, "pixels", "512")
		}
		if slices.ContainsFunc(list, func(name string) bool { return layerOf(name) == how.color.layer }) {
			file = with(file, fieldsParam.Name, fieldsText(how.fields))
		}
		if slices.ContainsFunc(list, func(name string) bool { return how.filters.of[layerOf(name)] != nil }) {
			file = withQuery(file, how.filters.queryOf(list))
		}
		source.URL = base + "/tiles/" + escapeLayers(strings.Join(list, ",")) + file
		all[id] = source
	}
	return all
}

// clustered is an expression that is true for clusters.
var clustered = []any{"==", []any{"get", "cluster"}, true}

// ofPoints returns a layer of a style that draws the points of a layer, or its clusters.
// Its id has an end that the name of a layer cannot have.
func (p *palette) ofPoints(name, ending, kind string, clusters bool) styleLayer {
	l := p.of(name, "", kind)
	l.ID, l.Filter = name+ending, clustered
	if !clusters {
		l.Filter = []any{"!", clustered}
	}
	return l
}

// dots draws points; number selects the colour of the layer.
func (p *palette) dots(name string, number int) styleLayer {
	l := p.ofPoints(name, "", "circle", false)
	l.Paint["circle-color"] = p.colour(number)
	l.Paint["circle-radius"] = byZoom(3, 3, 14, 6)
	l.Paint["circle-stroke-color"] = p.Map.PointsRim.CSS()
	l.Paint["circle-stroke-width"] = 1
	return l
}

func (p *palette) colour(number int) string { return p.Map.Points[number%len(p.Map.Points)].CSS() }

// clusters draws discs, larger ones for more points.
func (p *palette) clusters(name string, number int) styleLayer {
	l := p.ofPoints(name, ":cluster", "circle", true)
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
	l := p.ofPoints(name, ":label", "symbol", false)
	l.MinZoom = 8
	p.write(&l, "town")
	l.Layout["text-field"] = []any{"to-string", []any{"coalesce", p.name, ""}}
	l.Layout["text-anchor"], l.Layout["text-offset"] = "top", []float64{0, 0.6}
	return l
}

// countSize is the size of the numbers of clusters, in CSS pixels, as on the map page.
const countSize = 11

// countOfCluster writes the number of points of a cluster on its disc.
func (p *palette) countOfCluster(name string) styleLayer {
	l := p.ofPoints(name, ":count", "symbol", true)
	count := []any{"get", "point_count"}
	p.write(&l, "town")
	l.Layout["text-field"] = []any{"coalesce", []any{"get", "point_count_abbreviated"}, []any{"to-string", count}}
	l.Layout["text-size"], l.Layout["symbol-sort-key"] = countSize, []any{"-", count}
	// Other names keep away from the disc, but no disc is without its number.
	l.Layout["text-padding"], l.Layout["text-allow-overlap"] = 5, true
	l.Paint = map[string]any{"text-color": p.Map.PointsCount.CSS()}
	return l
}
