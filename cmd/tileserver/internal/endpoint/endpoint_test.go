package endpoint

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
)

// good returns an endpoint without contradictions.
func good() Endpoint {
	return Endpoint{
		Path: "/x/{z}", ID: "getX", Params: []Param{Zoom, Integer("limit", 1, 10, "Most.").WithDefault(5)}, Cost: Light,
		Problems: []string{"known"},
		Handle:   func(echo.Context, *Params) error { return nil },
		Example:  Example{Request: "/x/1?limit=7"},
	}
}

// TestCheck tests that Check refuses declarations that contradict themselves or each other, and
// that its error names the endpoint.
func TestCheck(t *testing.T) {
	known := func(typ string) bool { return typ == "known" }
	if err := Check([]Endpoint{good()}, known); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		change func(e *Endpoint)
		want   string
	}{
		"default": {func(e *Endpoint) { e.Params[1] = Integer("limit", 1, 10, "Most.").WithDefault(11) },
			"the default of limit is refused"},
		"word": {func(e *Endpoint) { e.Params[1] = Word("limit", "", "1", "7").WithDefault("2") },
			"the default of limit is refused"},
		"example":      {func(e *Endpoint) { e.Example.Request = "/x/1?limit=70" }, "the example is refused"},
		"other":        {func(e *Endpoint) { e.Example.Request = "/x/1?limt=7" }, "the example is refused"},
		"problem":      {func(e *Endpoint) { e.Problems = []string{"odd"} }, `"odd"`},
		"cost":         {func(e *Endpoint) { e.Cost = 0 }, "no class of cost"},
		"id":           {func(e *Endpoint) { e.ID = "get.X" }, "the id"},
		"of no path":   {func(e *Endpoint) { e.Path = "/x" }, "no parameter z"},
		"not declared": {func(e *Endpoint) { e.Path = "/x/{z}/{y}" }, "parameter y of the path is not declared"},
		"twice":        {func(e *Endpoint) { e.Params = append(e.Params, Zoom) }, "declared twice"},
	} {
		e := good()
		tt.change(&e)
		if err := Check([]Endpoint{e}, known); !errors.Is(err, ErrDeclaration) || !strings.Contains(err.Error(), tt.want) ||
			!strings.Contains(err.Error(), e.ID) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	again := good()
	again.ID = "getY"
	if err := Check([]Endpoint{good(), again}, known); !errors.Is(err, ErrDeclaration) ||
		!strings.Contains(err.Error(), "getX answers at the same path") {
		t.Errorf("two endpoints of one path: %v", err)
	}
	again = good()
	again.Path, again.Params = "/y", nil
	if err := Check([]Endpoint{good(), again}, known); !errors.Is(err, ErrDeclaration) || !strings.Contains(err.Error(), "same id") {
		t.Errorf("two endpoints of one id: %v", err)
	}
}

// A value is read according to its declaration, and OnRead is called with its name.
func TestValues(t *testing.T) {
	limit := Integer("limit", 1, 10, "Most.").WithDefault(5)
	e := Endpoint{Params: []Param{limit, Lat, Lon}}
	q := ParamsOf(&e, "lat=1&lon=-0")
	var asked []string
	q.OnRead = func(name string) { asked = append(asked, name) }
	if n := limit.Of(&q); n != 5 || q.Err != nil || limit.Given(&q) {
		t.Errorf("an absent limit is %d, %v", n, q.Err)
	}
	if lat, lon := Position(&q); lat != 1 || lon != 0 || q.Err != nil {
		t.Errorf("%v %v, %v", lat, lon, q.Err)
	}
	if got := strings.Join(asked, " "); !strings.HasPrefix(got, "limit limit lat") || !strings.Contains(got, "lon") {
		t.Errorf("asked for %s", got)
	}
	for query, want := range map[string]string{
		"limit=11&lat=1&lon=2": "limit", "limit=&lat=1&lon=2": "limit", "lon=2": "lat", "lat=NaN&lon=2": "lat", "lat=1&lon=181": "lon",
	} {
		q := ParamsOf(&e, query)
		limit.Of(&q)
		Position(&q)
		if refusal := (*Refusal)(nil); !errors.As(q.Err, &refusal) || refusal.Parameter != want {
			t.Errorf("%s: %v, want a refusal of %s", query, q.Err, want)
		}
	}
	if optional := Lat.WithDoc("Near.").AsOptional(); optional.Declaration().Required || !Lat.Declaration().Required ||
		optional.Declaration().Doc == Lat.Declaration().Doc {
		t.Error("a changed copy is no copy")
	}
}

// BenchmarkParams reads the parameters of a search for places that are nearest.
func BenchmarkParams(b *testing.B) {
	limit := Integer("limit", 1, 1000, "Most.").WithDefault(10)
	form := Word("format", "", "json", "geojson")
	e := Endpoint{Params: []Param{Lat, Lon, Radius, limit, Lang, Countries, Cursor, form}}
	query := e.ParamNames()
	const raw = "lat=48.8566&lon=2.3522&limit=10&country=FR,DE&lang=de"
	b.ReportAllocs()
	for b.Loop() {
		if err := query.Check(raw); err != nil {
			b.Fatal(err)
		}
		q := ParamsOf(&e, raw)
		Position(&q)
		Radius.Of(&q)
		limit.Of(&q)
		Lang.Of(&q)
		Countries.Of(&q)
		Cursor.Of(&q)
		form.Of(&q)
		if q.Err != nil {
			b.Fatal(q.Err)
		}
	}
}

// A path with more text after its last parameter is a different path, and parameters are decoded
// once.
func TestWholePath(t *testing.T) {
	e := echo.New()
	for _, tt := range []struct{ path, want string }{
		{"/x/a", "a"},
		{"/x/a%2Fb", "a/b"},
		{"/x/a%252Fb", "a%2Fb"},
		{"/x/a/b", ErrNoRoute.Error()},
	} {
		c := e.NewContext(httptest.NewRequest(http.MethodGet, tt.path, nil), nil)
		c.SetParamNames("id")
		c.SetParamValues(strings.TrimPrefix(c.Request().URL.EscapedPath(), "/x/"))
		if c.Request().URL.RawPath == "" {
			c.SetParamValues(strings.TrimPrefix(c.Request().URL.Path, "/x/"))
		}
		values, err := WholePath(c)
		got := strings.Join(values, " ")
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.path, got, tt.want)
		}
	}
}
