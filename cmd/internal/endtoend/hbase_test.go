package endtoend

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestHBase pushes all data sets into a cluster, and new ones under two servers
// that share it.
func TestHBase(t *testing.T) {
	gateways := os.Getenv("QUADRILLE_HBASE")
	if gateways == "" {
		t.Skip("needs HBase: run make test-hbase")
	}
	store := fmt.Sprintf("--store=hbase://%s/endtoend%d_%d?compression=off", gateways, os.Getpid(), time.Now().Unix())
	dir, data := t.TempDir(), t.TempDir()
	load := func(mark string) {
		for _, in := range inputs(t, dir, mark, 400) {
			if in.dataset == "places" { // built here, pushed by itself below
				mustIngest(t, data, in.args...)
				continue
			}
			if out := mustIngest(t, data, append(in.args, store)...); !strings.Contains(out, "pushed "+in.dataset) {
				t.Fatalf("%s is not pushed: %s", in.dataset, out)
			}
		}
		if out := mustIngest(t, data, "push", store); strings.Count(out, "in the store already") != 4 || !strings.Contains(out, "pushed places") {
			t.Fatal(out)
		}
	}
	load("Aye")
	local := serve(t, data)
	first, second := serve(t, t.TempDir(), store), serve(t, t.TempDir(), store, "--no-ip-index")
	older := answers(t, local.url)
	for _, s := range []*server{first, second} {
		if good, refused := right(t, s.url, older); good != len(questions) {
			t.Errorf("%d answers are right and %d refused", good, refused)
		}
		if _, body, _ := get(t, s.url+"/status"); !strings.Contains(body, `"store":"hbase"`) {
			t.Errorf("status does not say where the data comes from: %.200s", body)
		}
	}
	load("Bee")
	waitFor(t, "generation 2 in directory", func() bool {
		_, b, _ := get(t, local.url+"/status")
		return strings.Count(b, `"generation":2,`) == 5
	})
	newer := answers(t, local.url)
	for _, s := range []*server{first, second} {
		waitFor(t, "generation 2", func() bool {
			_, b, _ := get(t, s.url+"/status")
			return strings.Count(b, `"generation":2,`) == 5
		})
		if good, refused := right(t, s.url, newer); good != len(questions) {
			t.Errorf("%d answers are right and %d refused", good, refused)
		}
	}
	if out := mustIngest(t, data, "verify", store); strings.Count(out, "is intact") != 5 {
		t.Error(out)
	}
	mustIngest(t, data, "rollback", "places", store)
	for _, s := range []*server{first, second} {
		waitFor(t, "the rollback", func() bool {
			_, body, _ := get(t, s.url+"/places/7")
			return body == older["/places/7"]
		})
	}
	if out := mustIngest(t, data, "prune", "--keep", "1", store); !strings.Contains(out, "replaced less than --grace ago") {
		t.Error(out)
	}
	// 1 of all but places, whose 1 is published and whose 2 is the newest.
	if out := mustIngest(t, data, "prune", "--keep", "1", "--grace", "0s", store); strings.Count(out, "removed ") != 4 {
		t.Error(out)
	}
	if files, err := filepath.Glob(filepath.Join(data, ".remote", "*")); err != nil || len(files) > 0 {
		t.Errorf("pushing left %v, %v", files, err)
	}
}

// TestStoreAway starts a server whose cluster does not answer.
func TestStoreAway(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "hbase://user:secret@127.0.0.1:1/none?transport=http&tls=on&timeout=1s")
	for _, path := range append([]string{"/readyz", "/geoip/v2.1/city/20.0.1.5", "/countryCodeJSON?lat=1&lng=1"}, questions...) {
		code, body, h := get(t, s.url+path)
		if code == 404 && strings.HasPrefix(path, "/countryCode") {
			continue // not offered under this address
		}
		if code != 503 || h.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s, Retry-After %q", path, code, body, h.Get("Retry-After"))
		}
	}
	if code, _, _ := get(t, s.url+"/healthz"); code != 200 {
		t.Errorf("healthz %d", code)
	}
	if strings.Contains(s.logged(), "secret") {
		t.Errorf("the log shows credentials: %s", s.logged())
	}
}
