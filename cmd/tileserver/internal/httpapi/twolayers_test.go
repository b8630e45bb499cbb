package httpapi_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/feature/layertest"
	"quadrille/internal/testrace"
	"quadrille/quadkey"
)

// A question over two layers also needs only one file. This one finds features around the nearest
// features of another layer, such as the places around the nearest airports. A file of package
// layers would declare the result of Endpoints:
//
//	var _ = added.Add(func(s *Handlers) endpoint.Endpoint { return endpoint.Endpoint{…} })
//
// The question itself depends only on layers. If several packages needed it, it would be a package
// below ask.

// around finds features of one layer within a number of metres of features of another layer. The
// latter are the first features nearest to a position. Distances are measured between the positions
// of the features.
type around struct {
	of, by feature.Layer
	near   *feature.Near
	first  int
	metres float64
}

// maxFound is the greatest number of features in an answer.
const maxFound = 100

// found is a feature, with the feature of the other layer near which it lies.
type found struct {
	ID       string  `json:"id"`
	By       string  `json:"by" doc:"Id of the feature of the other layer that it is nearest to."`
	Distance float64 `json:"distance_m" doc:"Metres from that one." schema:"min=0"`
}

// list returns each feature once, sorted by the distance to the nearest feature of the other layer.
func (q *around) list(ctx context.Context) ([]found, error) {
	var by []feature.Feature // read before the others, so that no read of a store lasts as long as another
	for f, err := range q.by.Features(ctx, q.queryBy()) {
		if err != nil {
			return nil, err
		}
		by = append(by, f.Clone())
	}
	nearest := map[string]found{}
	for i := range by {
		for f, err := range q.of.Features(ctx, q.queryOf(by[i].Position)) {
			if err != nil {
				return nil, err
			}
			if other, known := nearest[f.ID]; !known || f.DistanceM < other.Distance {
				id := strings.Clone(f.ID) // f is valid until the next one
				nearest[id] = found{id, by[i].ID, f.DistanceM}
			}
		}
	}
	all := slices.AppendSeq([]found{}, maps.Values(nearest))
	slices.SortFunc(all, byDistance)
	return all[:min(len(all), maxFound)], nil
}

func byDistance(a, b found) int {
	return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.ID, b.ID))
}

func (q *around) queryBy() *feature.Query {
	return &feature.Query{Near: q.near, Limit: q.first, Detail: feature.WithoutGeometry}
}

func (q *around) queryOf(at quadkey.Position) *feature.Query {
	return &feature.Query{Near: &feature.Near{Position: at, MaxM: q.metres}, Limit: maxFound, Detail: feature.WithoutGeometry}
}

// aroundFace serves the question for all layers by their names.
var aroundFace = httpapi.Face{Name: "around", Order: 1000, New: func(p *httpapi.Parts) httpapi.Handlers { return &aroundHandlers{p.Kit} }}

type aroundHandlers struct{ *web.Kit }

type aroundList struct {
	_        struct{} `name:"AroundList" doc:"What is around the nearest features of another layer."`
	Features []found  `json:"features"`
}

var (
	ofParam = endpoint.DescribedParam(endpoint.InPath, "of", "A layer.", endpoint.Schema{"type": "string"}, "places")
	byParam = endpoint.DescribedParam(endpoint.InPath, "by", "Another layer, or the same.",
		endpoint.Schema{"type": "string"}, "airports")
	firstParam = endpoint.Integer("first", 1, 10, "Around so many features of the other layer, those nearest to the position.").WithDefault(1)
	farParam   = endpoint.Radius.WithDoc("Farthest distance in metres from one of them.").AsRequired()
)

// Endpoints returns the endpoints of this face.
func (s *aroundHandlers) Endpoints() []endpoint.Endpoint {
	return []endpoint.Endpoint{{
		Path: "/around/{of}/{by}", ID: "getAround", Tag: "points", Summary: "What is around the nearest features of another layer",
		Params: []endpoint.Param{ofParam, byParam, endpoint.Lat, endpoint.Lon, firstParam, farParam}, Handle: s.get, Cost: endpoint.Heavy,
		Answers: endpoint.Content{"application/json": aroundList{}}, CachePolicy: endpoint.CacheVaries,
		Problems: []string{"bad-parameter", "collection-not-found", "search-too-wide", "dataset-missing"},
	}}
}

func (s *aroundHandlers) get(c echo.Context, q *endpoint.Params) error {
	values, err := endpoint.PathParams(c)
	if err != nil {
		return err
	}
	lat, lon := endpoint.Position(q)
	question := around{near: feature.NearTo(lat, lon, 0), first: int(firstParam.Of(q)), metres: farParam.Of(q)}
	if q.Err != nil {
		return q.Err
	}
	of, err := layerOf(q.View(), "of", values[0], question.queryOf(quadkey.Position{}))
	if err != nil {
		return err
	}
	by, err := layerOf(q.View(), "by", values[1], question.queryBy())
	if err != nil {
		return err
	}
	question.of, question.by = of, by
	from := by.AppendGenerationIDs(of.AppendGenerationIDs([]uint64{})) // nil, and so not cached, if one of the two changes at any time
	return s.Reply(c, web.Answer{Format: web.FormatJSON}, from, func(ctx context.Context, out *web.Scratch) error {
		list, err := question.list(ctx)
		if err != nil {
			return err
		}
		out.Body, err = json.Marshal(aroundList{Features: list})
		return err
	})
}

// layerOf returns the layer with a name, if it can answer a query. Otherwise it refuses the
// parameter that names the layer.
func layerOf(v ask.View, parameter, name string, query *feature.Query) (*ask.Layer, error) {
	l, err := v.PublicLayer(name)
	switch {
	case ask.IsNoLayer(err):
		return nil, endpoint.Refuse(ask.ErrNoLayer, parameter, "Use a layer that /ogc/collections lists.")
	case err != nil:
		return nil, err
	}
	if err := l.LayerInfo.Check(query); err != nil {
		return nil, endpoint.Refuse(endpoint.ErrParameter, parameter, endpoint.Sentence(feature.DetailOf(err, errors.ErrUnsupported)))
	}
	return l, nil
}

// flat is a layer that does not support queries by distance.
type flat struct{ *layertest.Memory }

func (f flat) Info() *feature.Info {
	about := *f.Memory.Info()
	about.Can = feature.Abilities{}
	return &about
}

func TestQuestionOverTwoLayers(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	w := servertest.NewWhole(t)
	type kind struct{ live, flat, private bool }
	list := []feature.Feature{{ID: "oak", Position: quadkey.Position{Lat: 47.001, Lon: 5}}, {ID: "fir", Position: quadkey.Position{Lat: -47}}}
	for name, is := range map[string]kind{"woods": {}, "cars": {live: true}, "drawings": {flat: true}, "secrets": {private: true}} {
		about := feature.Info{Name: name, AllPoints: true, Live: is.live, Private: is.private, Bounds: quadkey.World}
		memory := &layertest.Memory{LayerInfo: about, List: list}
		layer := feature.Layer(memory)
		if is.flat {
			layer = flat{memory}
		}
		of := dataset.NewFixedLive(layer, dataset.Manifest{Dataset: name, Generation: 7})
		w.Config.ExtraLayers = append(w.Config.ExtraLayers,
			ask.SingleLayer(name, func(*ask.Sets) *dataset.Live[feature.Layer] { return of }))
	}
	w.Handler = httpapi.Compose(&w.Config, append(httpapi.Faces(), aroundFace)).Handler()
	const there = "?lat=47&lon=5&radius=30000"
	get := func(path string) (tag string, features []found) {
		t.Helper()
		res := w.Get(path)
		text := servertest.Body(t, res)
		var list aroundList
		if err := json.Unmarshal([]byte(text), &list); err != nil || res.StatusCode != http.StatusOK || list.Features == nil {
			t.Fatalf("%s: %d %v %s", path, res.StatusCode, err, text)
		}
		if tag = res.Header.Get("Etag"); (tag == "") != (res.Header.Get("Cache-Control") == "no-store") {
			t.Errorf("%s: %v", path, res.Header)
		}
		return tag, list.Features
	}

	// Each layer is combined with every layer. For regions the distances are those to their
	// borders.
	view := ask.NewViews(w.Config.Sets).Take(servertest.BuildDate)
	defer view.Release()
	names := []string{"woods", "cars", ask.PlacesLayer, ask.AirportsLayer, ask.StationsLayer, ask.PointsPrefix + "shops"}
	all, most := map[string][]feature.Feature{}, 0
	for _, name := range names {
		all[name] = featuresOf(t, &view, name)
	}
	for _, of := range names {
		get("/around/country/" + of + there)
		get("/around/" + of + "/country" + there)
		for _, by := range names {
			tag, got := get("/around/" + of + "/" + by + there + "&first=3")
			if want := aroundOf(all[of], all[by], quadkey.Position{Lat: 47, Lon: 5}, 3, 30_000); !slices.Equal(want, got) {
				t.Errorf("%s around %s: %v, want %v", of, by, got, want)
			}
			if live := of == "cars" || by == "cars"; live != (tag == "") {
				t.Errorf("%s around %s has the tag %q", of, by, tag)
			}
			most = max(most, len(got))
		}
	}
	if most < maxFound {
		t.Errorf("the longest answer has %d features", most)
	}

	// An answer is cached until a new generation of one of the layers is published.
	for _, path := range []string{"/around/airports/places" + there, "/around/places/airports" + there} {
		for _, name := range []string{ask.Airports.Name, ask.Places.Name} {
			tag, _ := get(path)
			if w.Get(path, "If-None-Match", tag).StatusCode != http.StatusNotModified {
				t.Errorf("%s is sent again", path)
			}
			w.Republish(name)
			if now, _ := get(path); now == tag {
				t.Errorf("%s has the same tag once %s are published anew", path, name)
			}
		}
	}

	// A question that is not possible is refused with the name of the parameter to change.
	for _, c := range []struct {
		path      string
		status    int
		kind      string
		parameter string
	}{
		{"/around/planets/places" + there, http.StatusNotFound, "collection-not-found", "of"},
		{"/around/secrets/places" + there, http.StatusNotFound, "collection-not-found", "of"},
		{"/around/places/points:none" + there, http.StatusNotFound, "collection-not-found", "by"},
		{"/around/drawings/places" + there, http.StatusBadRequest, "bad-parameter", "of"},
		{"/around/places/drawings" + there, http.StatusBadRequest, "bad-parameter", "by"},
		{"/around/places/airports" + there + "&first=0", http.StatusBadRequest, "bad-parameter", "first"},
		{"/around/places/airports?lat=47&lon=5", http.StatusBadRequest, "bad-parameter", "radius"},
	} {
		if p := servertest.WantProblem(t, w.Get(c.path), c.status, c.kind); p.Parameter != c.parameter {
			t.Errorf("%s: %+v", c.path, p)
		}
	}
	text := servertest.Body(t, w.Get("/openapi.json"))
	if !slices.Contains(w.DescribedOperations(), "GET /around/{of}/{by}") || !strings.Contains(text, `"AroundList"`) {
		t.Error("it is not described")
	}
}

// featuresOf returns the features of a layer.
func featuresOf(t *testing.T, v *ask.View, name string) (list []feature.Feature) {
	t.Helper()
	l, err := v.Layer(name)
	if err != nil {
		t.Fatal(err)
	}
	for f, err := range l.Features(t.Context(), &feature.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, f.Clone())
	}
	return list
}

// aroundOf computes the answer from the distances between all features.
func aroundOf(of, by []feature.Feature, at quadkey.Position, first int, metres float64) (list []found) {
	by = slices.SortedStableFunc(slices.Values(by), func(a, b feature.Feature) int {
		return cmp.Compare(a.Position.Distance(at), b.Position.Distance(at))
	})
	for _, f := range of {
		nearest := found{ID: f.ID, Distance: metres}
		for _, other := range by[:min(first, len(by))] {
			if d := f.Position.Distance(other.Position); d <= nearest.Distance {
				nearest.By, nearest.Distance = other.ID, d
			}
		}
		if nearest.By != "" {
			list = append(list, nearest)
		}
	}
	slices.SortFunc(list, byDistance)
	return list[:min(len(list), maxFound)]
}
