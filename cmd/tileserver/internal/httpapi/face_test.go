package httpapi_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/internal/testrace"
)

// TestPlacesOfFaces tests that no two faces have the same Order. Otherwise documents would differ
// between starts.
func TestPlacesOfFaces(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	all := httpapi.Faces()
	for i := range all[1:] {
		if all[i].Order == all[i+1].Order {
			t.Errorf("%q and %q are both at %d", all[i].Name, all[i+1].Name, all[i].Order)
		}
	}
}

// TestOfNoFace tests that endpoints without a face also pass the suite of tests of faces.
func TestOfNoFace(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	servertest.TestNoFace(t)
}

// TestWithoutFace tests that a server without a face has none of its endpoints, and that its other
// answers stay the same.
func TestWithoutFace(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	worlds := servertest.NewWorlds(t)
	type call struct {
		path, text string
		headers    []string
		world      *servertest.Server
		want       *http.Response
	}
	var calls []call
	for _, o := range servertest.ReadDescription(t).Operations() {
		if o.Method != http.MethodGet || o.Members["servers"] != nil {
			continue
		}
		list, world := worlds.CallsOf(&o)
		if testing.Short() {
			list = list[:min(len(list), 1)]
		}
		for _, text := range list {
			parts := strings.Split(world.Pin(text), " | ")
			headers, sent := servertest.HeadersOf(parts[1:])
			if sent == nil {
				calls = append(calls, call{o.Path, parts[0], headers, world, world.Do(o.Method, parts[0], headers...)})
			}
		}
	}
	documented := worlds.Tiles().DescribedOperations()
	for _, f := range httpapi.Faces() {
		if f.New == nil {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			gone := map[string]bool{}
			all := httpapi.Compose(&httpapi.Config{}, httpapi.Faces())
			for _, o := range servertest.OperationsOf(all.Handlers(f.Name).Endpoints()) {
				gone[o] = true
			}
			if f.List != nil { // which another face answers
				for _, o := range servertest.OperationsOf(all.Handlers("layers").Endpoints()) {
					gone[o] = gone[o] || strings.Contains(o, " "+f.List.Path+"/")
				}
			}
			handlers := map[*servertest.Server]*servertest.Server{}
			for _, w := range worlds.Servers() {
				cfg := w.Config
				handlers[w] = &servertest.Server{T: t, Handler: httpapi.Compose(&cfg, servertest.FacesWithout(f.Name)).Handler()}
			}
			for _, c := range calls {
				res := handlers[c.world].Do(http.MethodGet, c.text, c.headers...)
				status, kind, want := res.StatusCode, res.Header.Get("Content-Type"), c.want.Header.Get("Content-Type")
				if gone["GET "+c.path] {
					// The path may match another route: "nearby" is then taken as the id of a
					// place, and no place has it.
					if refused := status == http.StatusBadRequest || status == http.StatusMethodNotAllowed; status != http.StatusNotFound && !refused {
						t.Errorf("GET %s: %d, though its face is gone", c.text, status)
					}
				} else if status != c.want.StatusCode || kind != want {
					t.Errorf("GET %s: %d %s, want %d %s", c.text, status, kind, c.want.StatusCode, want)
				}
			}
			left := slices.DeleteFunc(slices.Clone(documented), func(o string) bool { return gone[o] })
			if got := handlers[worlds.Tiles()].DescribedOperations(); !slices.Equal(got, left) {
				t.Errorf("%d operations are described, want %d", len(got), len(left))
			}
			if page := handlers[worlds.Tiles()].Get("/docs"); page.StatusCode != http.StatusOK {
				t.Errorf("/docs: %d", page.StatusCode)
			}
		})
	}
}
