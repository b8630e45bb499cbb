package httpapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// No two faces have the same place, or documents would differ from start to start.
func TestPlacesOfFaces(t *testing.T) {
	all := faces()
	for i := range all[1:] {
		if all[i].At == all[i+1].At {
			t.Errorf("%q and %q are both at %d", all[i].Name, all[i+1].Name, all[i].At)
		}
	}
}

// without are the faces but one.
func without(name string) []Face {
	return slices.DeleteFunc(faces(), func(f Face) bool { return f.Name == name })
}

// described are the paths of the description of a server.
func (f *fixture) described() []string {
	f.t.Helper()
	var doc struct {
		Paths map[string]json.RawMessage
	}
	res := f.get("/openapi.json")
	text := body(f.t, res)
	if err := json.Unmarshal([]byte(text), &doc); err != nil || res.StatusCode != http.StatusOK {
		f.t.Fatalf("/openapi.json: %d, %v: %.300s", res.StatusCode, err, text)
	}
	var paths []string
	for path := range doc.Paths {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

// TestWithoutFace: a server that is made without a face has none of its paths, and answers all
// else as it does with it.
func TestWithoutFace(t *testing.T) {
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
	for _, f := range faces() {
		if f.New == nil {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			gone := map[string]bool{}
			all := newServer(&Config{})
			for _, e := range all.roomOf(f.Name).Endpoints() {
				for _, path := range e.Paths() {
					gone[path] = true
				}
			}
			if f.List != nil { // which another face answers
				for _, e := range all.roomOf("layers").Endpoints() {
					for _, path := range e.Paths() {
						gone[path] = gone[path] || strings.HasPrefix(path, f.List.Path+"/")
					}
				}
			}
			handlers := map[*fixture]*fixture{}
			for _, w := range worlds.all() {
				cfg := w.cfg
				handlers[w] = &fixture{t: t, handler: compose(&cfg, without(f.Name)).handler()}
			}
			for _, c := range calls {
				res := handlers[c.world].do(http.MethodGet, c.text, c.headers...)
				want := c.want.StatusCode
				if gone[c.path] {
					want = http.StatusNotFound
				}
				if res.StatusCode != want || !gone[c.path] && res.Header.Get("Content-Type") != c.want.Header.Get("Content-Type") {
					t.Errorf("GET %s: %d %s, want %d %s", c.text, res.StatusCode, res.Header.Get("Content-Type"), want, c.want.Header.Get("Content-Type"))
				}
			}
			left := slices.DeleteFunc(slices.Clone(documented), func(path string) bool { return gone[path] })
			if got := handlers[worlds.tiles].described(); !slices.Equal(got, left) {
				t.Errorf("%d paths are described, want %d", len(got), len(left))
			}
			if page := handlers[worlds.tiles].get("/docs"); page.StatusCode != http.StatusOK {
				t.Errorf("/docs: %d", page.StatusCode)
			}
		})
	}
}

// roomOf is the room of a face.
func (s *server) roomOf(name string) Room {
	i := slices.IndexFunc(slices.DeleteFunc(faces(), func(f Face) bool { return f.New == nil }), func(f Face) bool { return f.Name == name })
	return s.rooms[i]
}
