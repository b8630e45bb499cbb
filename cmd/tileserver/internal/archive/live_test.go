package archive

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quadrille/cmd/internal/catalogue"
	"quadrille/cmd/tileserver/internal/archive/archivetest"
	"quadrille/quadkey"
)

func TestNames(t *testing.T) {
	for in, want := range map[string]NamedFile{
		"world.pmtiles":         {"world", "world.pmtiles"},
		"/a/b/World_2.MBTiles":  {"world_2", "/a/b/World_2.MBTiles"},
		"osm=/a/b c=d.pmtiles":  {"osm", "/a/b c=d.pmtiles"},
		"/a=b/c.mbtiles":        {"c", "/a=b/c.mbtiles"},
		"a=b=c.mbtiles":         {"a", "b=c.mbtiles"},
		"plain=relative/x.y.mb": {"plain", "relative/x.y.mb"},
	} {
		if got, err := ParseName(in); err != nil || got != want {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
	for _, in := range []string{
		"",
		"=x",
		"x=",
		"a b.mbtiles",
		"../.mbtiles",
		"A=x.mbtiles",
		"ü.mbtiles",
		"-a=x",
		strings.Repeat("a", 65) + "=x",
	} {
		if got, err := ParseName(in); err == nil {
			t.Errorf("%q: %v", in, got)
		}
	}
}

// world returns an archive with one vector tile. Its layer has the given name.
func world(name string) []byte {
	p := archivetest.PMTiles{Internal: archivetest.Gzip, Tiles: archivetest.Gzip, Type: 1}
	return p.Bytes([]archivetest.Tile{{Data: archivetest.Pack(archivetest.Gzip, archivetest.Vector(name))}})
}

func TestReplaced(t *testing.T) {
	path := archivetest.Write(t, filepath.Join(t.TempDir(), "a.pmtiles"), world("first"))
	s, err := Serve(t.Context(), []NamedFile{{"a", path}}, 1<<20, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	shows := func(name, state string) *Archive {
		t.Helper()
		s.CheckFiles(t.Context())
		l := s.Map("a")
		a := l.Current()
		data, coding, _, err := a.Tile(t.Context(), quadkey.Tile{})
		if name == "" {
			if err == nil {
				t.Error("a tile of a file that was changed in place is answered")
			}
		} else if plain, uerr := Unpack(data, coding, MaxTileBytes); err != nil || uerr != nil || !strings.Contains(string(plain), name) {
			t.Errorf("%q, %v, want %s", plain, err, name)
		}
		if st := l.Status(); st.State != state || st.Archive != a || (st.Err == nil) != (state == catalogue.Serving) {
			t.Errorf("state %s, %v; want %s", st.State, st.Err, state)
		}
		return a
	}
	first := shows("first", catalogue.Serving)
	archivetest.Write(t, path, world("second"))
	second := shows("second", catalogue.Serving)
	if first.ID == second.ID {
		t.Error("two files have one identity")
	}
	if _, _, _, err := first.Tile(t.Context(), quadkey.Tile{}); err == nil {
		t.Error("an archive that has been replaced is still open")
	}
	archivetest.Write(t, path, world("third")[:150])
	shows("second", catalogue.Stale)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	shows("second", catalogue.Stale)
	archivetest.Write(t, path, world("fourth"))
	shows("fourth", catalogue.Serving)
	if err := os.Truncate(path, 140); err != nil {
		t.Fatal(err)
	}
	shows("", catalogue.Damaged)
	archivetest.Write(t, path, world("fifth"))
	shows("fifth", catalogue.Serving)
}

func TestServeRefuses(t *testing.T) {
	dir := t.TempDir()
	path := archivetest.Write(t, filepath.Join(dir, "a.pmtiles"), world("x"))
	for want, names := range map[string][]NamedFile{
		"two base maps": {{"a", path}, {"a", path}},
		"no such file":  {{"b", path}, {"a", filepath.Join(dir, "none")}},
		"at most":       make([]NamedFile, MaxMaps+1),
	} {
		if _, err := Serve(t.Context(), names, 0, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", names[0], err, want)
		}
	}
	var none *Set
	none.CheckFiles(t.Context())
	if none.Map("a") != nil || none.Maps() != nil || none.Close() != nil {
		t.Error("no set has base maps")
	}
}
