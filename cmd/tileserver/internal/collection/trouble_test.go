package collection

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"quadrille/cellstore/pebblestore"
	"quadrille/cmd/tileserver/internal/problems"
	"quadrille/internal/must"
	"quadrille/places/live"
	"quadrille/places/points"
)

// newFullDisk returns the machine's file system, which refuses writes while full is set.
func newFullDisk() (fsys vfs.FS, full *atomic.Bool) {
	full = new(atomic.Bool)
	return errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && !strings.HasSuffix(op.Path, "LOCK") { // which is there
			return syscall.ENOSPC
		}
		return nil
	})), full
}

// While the disk is full, writes are answered with 507 and reads still work. Afterwards writes work
// again automatically.
func TestFullDisk(t *testing.T) {
	fsys, full := newFullDisk()
	s := newServiceOn(t, t.TempDir(), &pebblestore.Options{FS: fsys}, nil)
	s.make("shops", `{}`)
	put := func(id string) int {
		return s.send(rootKey, "PUT", "/points/shops/"+id, pointFeature(id, 8, 47, "{}")).Code
	}
	for i := range 20 {
		if code := put(fmt.Sprint("a", i)); code != 201 {
			t.Fatal(code)
		}
	}
	full.Store(true)
	s.want(s.send(rootKey, "PUT", "/points/shops/b", pointFeature("b", 8, 47, "{}")), 507, "insufficient-storage")
	s.want(s.send(rootKey, "GET", "/points/shops/b", ""), 404, "point-not-found")
	if w := s.send(rootKey, "GET", "/points/shops/count", ""); w.Code != 200 || !strings.Contains(w.Body.String(), `{"count":20}`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for method, target := range map[string]string{"PATCH": "/points/shops/a1", "DELETE": "/points/shops/a2", "PUT": "/points/others"} {
		body := ""
		if method == "PATCH" {
			body = `{"properties":{"a":1}}`
		}
		s.want(s.send(rootKey, method, target, body), 507, "insufficient-storage")
	}
	s.want(s.send(rootKey, "PATCH", "/points/shops", `{"history":"1h"}`), 507, "insufficient-storage")
	lines := strings.Repeat(pointFeature("c", 8, 47, "{}")+"\n", 3)
	s.want(s.send(rootKey, "POST", "/points/shops", lines), 507, "insufficient-storage")
	s.want(s.send(rootKey, "POST", "/points/shops", "{\"id\":1}\n"+lines), 507, "insufficient-storage")
	s.want(s.send(rootKey, "DELETE", "/points/shops", ""), 507, "insufficient-storage")
	if got := problems.LiveTroubles(s.handlers.Views.Collections, true); len(got) != 1 || got[0].Collection != "shops" ||
		got[0].State != "full" {
		t.Errorf("troubles: %v", got)
	}
	full.Store(false)
	for n := 0; put("b") != 201; n++ {
		if n > 2000 {
			t.Fatal("no writes are taken")
		}
		time.Sleep(5 * time.Millisecond)
	}
	s.want(s.send(rootKey, "DELETE", "/points/shops", ""), 204, "")
	s.want(s.send(rootKey, "GET", "/points/shops", ""), 404, "collection-not-found")
}

// A write that conflicts with one of another program is answered with 503 and has written nothing.
// If it is sent again, it is accepted.
func TestTwoWriters(t *testing.T) {
	s := newService(t, nil)
	s.make("shops", `{}`)
	point := pointFeature("a", 8, 47, "{}")
	s.want(s.send(rootKey, "PUT", "/points/shops/a", point), 201, "")
	other := points.LiveKind.OpenLog(must.Get(s.store.Table(t.Context(), points.LiveKind.Table("shops"))).In(t))
	end := must.Get(other.End(t.Context())).In(t)
	end.Step++
	must.Do(t, other.Append(t.Context(), &live.LogStep{LogEnd: end}))
	w := s.send(rootKey, "DELETE", "/points/shops/a", "")
	s.want(w, 503, "dataset-unavailable")
	if w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "Nothing was written, as another program") {
		t.Errorf("%v %s", w.Header(), w.Body)
	}
	for n := 0; s.send(rootKey, "DELETE", "/points/shops/a", "").Code != 204; n++ {
		if n > 2000 {
			t.Fatal("no writes are taken")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// A damaged collection is answered with 503 for all clients, and the others are served, whether the
// damage is found at the start or later.
func TestDamagedCollection(t *testing.T) {
	point := pointFeature("a", 8, 47, "{}")
	begin := func(s *service) {
		for _, name := range []string{"whole", "shops"} {
			s.make(name, `{"history":"1h"}`)
			s.want(s.send(rootKey, "PUT", "/points/"+name+"/a", point), 201, "")
		}
	}
	refused := func(s *service, targets ...string) {
		for _, target := range targets {
			method, path, _ := strings.Cut(target, " ")
			body := ""
			if strings.Count(path, "/") > 2 && method != "DELETE" {
				body = map[string]string{"PUT": point, "PATCH": `{"properties":{"a":1}}`}[method]
			}
			s.want(s.send(rootKey, method, path, body), 503, "data-damaged")
		}
		s.want(s.send("", "GET", "/points/shops/a", ""), 503, "data-damaged")
		s.want(s.send(rootKey, "GET", "/points/whole/a", ""), 200, "")
		s.want(s.send(rootKey, "PUT", "/points/whole/b", pointFeature("b", 8, 47, "{}")), 201, "")
	}
	// Clients that may know of a damaged collection find it listed as damaged.
	listed := func(s *service, key string, want bool) {
		t.Helper()
		w := s.send(key, "GET", "/points", "")
		damaged := strings.Contains(w.Body.String(), `{"name":"shops","state":"damaged","detail":"Stop the server and `)
		if w.Code != 200 || !strings.Contains(w.Body.String(), `"name":"whole","points":2,`) || damaged != want ||
			strings.Contains(w.Body.String(), "shops") != want {
			t.Errorf("%d %s, want the damaged one: %v", w.Code, w.Body, want)
		}
	}
	both := []string{
		"GET /points/shops", "GET /points/shops/a", "GET /points/shops/nearby?lat=1&lon=2", "GET /points/shops/within?bbox=1,2,3,4",
		"GET /points/shops/count",
		"GET /points/shops/a/track", "GET /points/shops/events",
		"PUT /points/shops", "DELETE /points/shops", "PUT /points/shops/a", "PATCH /points/shops/a", "DELETE /points/shops/a",
	}
	known := func(s *service, private bool, name string) {
		if got := problems.LiveTroubles(s.handlers.Views.Collections, private); len(got) != 1 || got[0].Collection != name ||
			got[0].State != "damaged" {
			t.Errorf("troubles: %v", got)
		}
	}
	t.Run("later", func(t *testing.T) {
		dir := t.TempDir()
		fsys, full := newFullDisk()
		s := newServiceOn(t, dir, &pebblestore.Options{FS: fsys}, nil)
		begin(s)
		spoilLogs(t, dir)
		full.Store(true)
		s.want(s.send(rootKey, "PUT", "/points/shops/a", point), 507, "insufficient-storage")
		full.Store(false)
		refused(s, both...)
		known(s, false, "shops")
		listed(s, rootKey, true)
		listed(s, "", true)
	})
	t.Run("at the start", func(t *testing.T) {
		dir := t.TempDir()
		t.Run("before", func(t *testing.T) { begin(newServiceOn(t, dir, nil, nil)) })
		spoilLogs(t, dir)
		s := newServiceOn(t, dir, nil, nil)
		refused(s, append(both, "GET /points/shops/hooks", "POST /points/shops")...)
		known(s, true, "shops")
		known(s, false, "") // it may be private
		listed(s, rootKey, true)
		listed(s, "", false)
	})
}

// spoilLogs changes a byte in the logs of the collection shops.
func spoilLogs(t *testing.T, dir string) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "tables", "points_shops", "db", "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatal(logs, err)
	}
	for _, log := range logs {
		b, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) > 40 {
			b[40] ^= 1
		}
		if err := os.WriteFile(log, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
