package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quadrille/cmd/tileserver/internal/archive/archivetest"
)

// A running server serves a new base map when its file is replaced. If the new file is damaged, it
// continues to serve the previous one.
func TestBaseMapReload(t *testing.T) {
	world := func(name string) []byte {
		p := archivetest.PMTiles{Internal: archivetest.Gzip, Tiles: archivetest.Uncompressed, Type: 1}
		return p.Bytes([]archivetest.Tile{{Data: archivetest.Vector(name)}})
	}
	path := archivetest.Write(t, filepath.Join(t.TempDir(), "world.pmtiles"), world("first"))
	site, log, _ := start(t, "--data", t.TempDir(), "--basemap", path)
	eventually := func(what string, is func() bool) {
		t.Helper()
		for range 600 {
			if is() {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Fatalf("never: %s; log:\n%s", what, log)
	}
	shows := func(name string) func() bool {
		return func() bool {
			_, body := fetch(t, site+"/basemap/world/0/0/0.mvt")
			return strings.Contains(body, name)
		}
	}
	eventually("the first file", shows("first"))
	archivetest.Write(t, path, world("second"))
	eventually("the second file", shows("second"))
	archivetest.Write(t, path, world("third")[:140])
	eventually("a log of the damaged file", func() bool { return strings.Contains(log.String(), "stays in service") })
	if _, body := fetch(t, site+"/status"); !strings.Contains(body, `"state":"stale"`) || !shows("second")() {
		t.Errorf("status: %s", body)
	}
}

func TestBaseMapFlag(t *testing.T) {
	dir := t.TempDir()
	bad := archivetest.Write(t, filepath.Join(dir, "bad.pmtiles"), []byte("PMTiles\x03"))
	for want, args := range map[string][]string{
		"no such file":           {"--basemap", filepath.Join(dir, "none.pmtiles")},
		"not a PMTiles archive":  {"--basemap", bad},
		"is no name of a base":   {"--basemap", "A B=" + bad},
		"neither a PMTiles":      {"config", "check", "--basemap", archivetest.Write(t, filepath.Join(dir, "text.mbtiles"), []byte("text"))},
		"names no file: give NA": {"--basemap", "x="},
	} {
		refused(t, want, append(args, "--data", dir, "--listen", "127.0.0.1:0")...)
	}
}
