package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/internal/testrace"
)

// A new face needs code in one place only. This face counts the features of any layer. Its handlers
// would be a package, and a file face_count.go would register countFace:
//
//	func init() { register(countFace) }
//
// Its declaration defines its route and OPTIONS, the reading of its parameters, its limits and
// metrics, the status of its error, and the description.
var countFace = httpapi.Face{
	Name: "count", Order: 1000, Kinds: []web.ProblemKind{
		{
			Err:    errUncounted,
			Status: http.StatusNotFound,
			Type:   "uncounted",
			Title:  "There is nothing to count",
			Detail: "Use a layer that /ogc/collections lists.",
		},
	},
	New: func(p *httpapi.Parts) httpapi.Handlers { return &countHandlers{p} },
}

var errUncounted = errors.New("nothing to count")

type countHandlers struct{ *httpapi.Parts }

type featureCount struct {
	_     struct{} `name:"FeatureCount" doc:"How many features a layer has."`
	Count int64    `json:"count" schema:"min=0"`
}

var countedParam = endpoint.DescribedParam(endpoint.InPath, "layer", "A layer.", endpoint.Schema{"type": "string"}, "country")

// Endpoints returns the endpoints of this face.
func (s *countHandlers) Endpoints() []endpoint.Endpoint {
	return []endpoint.Endpoint{{
		Path: "/count/{layer}", ID: "countLayer", Tag: "points", Summary: "How many features a layer has",
		Params: []endpoint.Param{countedParam}, Handle: s.get, Cost: endpoint.Light,
		Answers: endpoint.Content{"application/json": featureCount{}}, CachePolicy: endpoint.CacheTagged,
		Problems: []string{"uncounted", "dataset-missing"},
	}}
}

func (s *countHandlers) get(c echo.Context, q *endpoint.Params) error {
	values, err := endpoint.PathParams(c)
	if err != nil {
		return err
	}
	l, err := q.View().PublicLayer(values[0])
	if ask.IsNoLayer(err) {
		return errUncounted
	}
	if err != nil {
		return err
	}
	return s.Kit.Reply(c, web.Answer{Format: web.FormatJSON}, l.AppendGenerationIDs([]uint64{}),
		func(ctx context.Context, out *web.Scratch) (err error) {
			var doc featureCount
			if doc.Count, err = feature.Count(ctx, l, &feature.Query{}); err != nil {
				return err
			}
			out.Body, err = json.Marshal(doc)
			return err
		})
}

func TestNewFace(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	w := servertest.NewWorld(t)
	w.Handler = httpapi.Compose(&w.Config, append(httpapi.Faces(), countFace)).Handler()
	if res := w.Get("/count/country"); res.StatusCode != http.StatusOK || res.Header.Get("Etag") == "" {
		t.Errorf("%d %v", res.StatusCode, res.Header)
	} else if text := servertest.Body(t, res); !strings.HasPrefix(text, `{"count":`) || text == `{"count":0}` {
		t.Error(text)
	}
	servertest.WantProblem(t, w.Get("/count/planet"), http.StatusNotFound, "uncounted")
	servertest.WantProblem(t, w.Get("/count/country?colour=red"), http.StatusBadRequest, "bad-parameter")
	if allow := w.Do(http.MethodOptions, "/count/country").Header.Get("Allow"); !strings.Contains(allow, "GET") {
		t.Errorf("Allow: %q", allow)
	}
	if !slices.Contains(w.DescribedOperations(), "GET /count/{layer}") ||
		!strings.Contains(servertest.Body(t, w.Get("/docs")), "How many features a layer has") {
		t.Error("it is not described")
	}
}
