package httpapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/internal/testrace"
)

// No two faces have the same place, or documents would differ from start to start.
func TestPlacesOfFaces(t *testing.T) {
	testrace.Plain(t, "one request after the other, which TestEverythingAtOnce sends at once")
	all := Faces()
	for i := range all[1:] {
		if all[i].At == all[i+1].At {
			t.Errorf("%q and %q are both at %d", all[i].Name, all[i+1].Name, all[i].At)
		}
	}
}

// without are the faces but one.
func without(name string) []Face {
	return slices.DeleteFunc(Faces(), func(f Face) bool { return f.Name == name })
}

// described are the operations of the description of a server, such as "GET /at".
func (f *fixture) described() (list []string) {
	f.t.Helper()
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	res := f.get("/openapi.json")
	text := body(f.t, res)
	if err := json.Unmarshal([]byte(text), &doc); err != nil || res.StatusCode != http.StatusOK {
		f.t.Fatalf("/openapi.json: %d, %v: %.300s", res.StatusCode, err, text)
	}
	for path, methods := range doc.Paths {
		for method := range methods {
			list = append(list, strings.ToUpper(method)+" "+path)
		}
	}
	slices.Sort(list)
	return list
}

// operationsOf are those of endpoints.
func operationsOf(endpoints []endpoint.Endpoint) (list []string) {
	for _, e := range endpoints {
		methods := e.Offered()
		if e.Any {
			methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
		}
		for _, path := range e.Paths() {
			for _, method := range methods {
				list = append(list, method+" "+path)
			}
		}
	}
	return list
}

// TestWithoutFace: a server that is made without a face has none of its endpoints, and answers
// all else as it does with it.
func TestWithoutFace(t *testing.T) {
	testrace.Plain(t, "one request after the other, which TestEverythingAtOnce sends at once")
	worlds := newContractWorlds(t)
	type call struct {
		path, text string
		headers    []string
		world      *fixture
		want       *http.Response
	}
	var calls []call
	for _, o := range readAPIDoc(t).operations() {
		if o.method != http.MethodGet || o.members["servers"] != nil {
			continue
		}
		list, world := worlds.callsOf(&o)
		if testing.Short() {
			list = list[:min(len(list), 1)]
		}
		for _, text := range list {
			parts := strings.Split(world.pin(text), " | ")
			headers, sent := headersOf(parts[1:])
			if sent == nil {
				calls = append(calls, call{o.path, parts[0], headers, world, world.do(o.method, parts[0], headers...)})
			}
		}
	}
	documented := worlds.tiles.described()
	for _, f := range Faces() {
		if f.New == nil {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			gone := map[string]bool{}
			all := Compose(&Config{}, Faces())
			for _, o := range operationsOf(all.Room(f.Name).Endpoints()) {
				gone[o] = true
			}
			if f.List != nil { // which another face answers
				for _, o := range operationsOf(all.Room("layers").Endpoints()) {
					gone[o] = gone[o] || strings.HasPrefix(o, "GET "+f.List.Path+"/")
				}
			}
			handlers := map[*fixture]*fixture{}
			for _, w := range worlds.all() {
				cfg := w.cfg
				handlers[w] = &fixture{t: t, handler: Compose(&cfg, without(f.Name)).Handler()}
			}
			for _, c := range calls {
				res := handlers[c.world].do(http.MethodGet, c.text, c.headers...)
				status, kind, want := res.StatusCode, res.Header.Get("Content-Type"), c.want.Header.Get("Content-Type")
				if gone["GET "+c.path] {
					// A path that is left may fit: nearby is the id of no place.
					if refused := status == http.StatusBadRequest || status == http.StatusMethodNotAllowed; status != http.StatusNotFound && !refused {
						t.Errorf("GET %s: %d, though its face is gone", c.text, status)
					}
				} else if status != c.want.StatusCode || kind != want {
					t.Errorf("GET %s: %d %s, want %d %s", c.text, status, kind, c.want.StatusCode, want)
				}
			}
			left := slices.DeleteFunc(slices.Clone(documented), func(o string) bool { return gone[o] })
			if got := handlers[worlds.tiles].described(); !slices.Equal(got, left) {
				t.Errorf("%d operations are described, want %d", len(got), len(left))
			}
			if page := handlers[worlds.tiles].get("/docs"); page.StatusCode != http.StatusOK {
				t.Errorf("/docs: %d", page.StatusCode)
			}
		})
	}
}
