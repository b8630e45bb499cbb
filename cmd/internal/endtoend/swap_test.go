package endtoend

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestSwapsUnderLoad swaps all data sets of a running server twenty times, by publishing, rolling
// back and building, while generations are pruned. No request may fail, no answer may mix two
// generations, and two different answers may not have the same ETag.
func TestSwapsUnderLoad(t *testing.T) {
	swaps := 20
	if testing.Short() {
		swaps = 10 // every kind of swap is among these
	}
	dir, data := t.TempDir(), t.TempDir()
	marks := []string{"Aye", "Bee"}
	var sets [][]input
	for _, mark := range marks {
		set := inputs(t, dir, mark, 400)
		for _, in := range set {
			mustIngest(t, data, in.args...)
		}
		sets = append(sets, set)
	}
	s := serve(t, data)
	paths := []string{
		"/tiles/country/2/1/1.geojson", "/tiles/country/1/1/0.mvt", "/regions/within?bbox=-4,-4,4,4", "/regions/at?lat=0&lon=0",
		"/places/within?bbox=-4,-4,4,4", "/places/nearby?lat=1&lon=1&limit=50", "/places/search?q=town",
		"/airports/within?bbox=-4,-4,4,4", "/airports/nearby?lat=0&lon=0",
		"/stations/within?bbox=-4,-4,4,4", "/stations/nearby?lat=0&lon=0", "/ip/20.0.1.5", "/status", "/readyz",
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	var requests, notModified atomic.Int64
	var seen sync.Map // path and ETag: digest of the answer
	ask := func(client *http.Client, path, etag string) (string, error) {
		req, err := http.NewRequest("GET", s.URL+path, nil)
		if err != nil {
			return "", err
		}
		if etag != "" {
			req.Header.Set("If-None-Match", etag)
		}
		res, err := client.Do(req)
		if err != nil {
			return "", err
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			return "", err
		}
		requests.Add(1)
		next := res.Header.Get("ETag")
		switch {
		case res.StatusCode == 304:
			notModified.Add(1)
			return next, nil
		case res.StatusCode != 200:
			return "", fmt.Errorf("%s: %s: %s", path, res.Status, b)
		case bytes.Contains(b, []byte(" "+marks[0])) && bytes.Contains(b, []byte(" "+marks[1])) && path != "/status":
			return "", fmt.Errorf("%s answers from two generations: %s", path, b)
		}
		if next != "" {
			sum := sha256.Sum256(b)
			if before, loaded := seen.LoadOrStore(path+" "+next, sum); loaded && before != sum {
				return "", fmt.Errorf("%s: ETag %s stands for two answers", path, next)
			}
		}
		return next, nil
	}
	failed := make(chan error, 4)
	for n := range 4 {
		wg.Go(func() {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			etags := map[string]string{}
			for i := n; ctx.Err() == nil; i++ {
				path := paths[i%len(paths)]
				etag, err := ask(client, path, etags[path])
				if err != nil {
					failed <- err
					return
				}
				if etags[path] = etag; i%3 == 0 {
					etags[path] = "" // so that bodies are seen too
				}
			}
		})
	}
	c := catalogOf(t, data)
	for i := range swaps {
		set := sets[i%2]
		for j, in := range set {
			switch {
			case i%10 == 9 || full || (i+j)%10 == 0: // build a new one and prune old ones
				mustIngest(t, data, in.args...)
				mustIngest(t, data, "prune", "--keep", "2", in.dataset)
			case i%5 == 2:
				m, err := c.Current(t.Context(), in.dataset)
				if err != nil {
					t.Fatal(err)
				}
				if newest := other(t, data, in.dataset); newest > m.Generation {
					if _, err := c.Activate(t.Context(), in.dataset, newest); err != nil {
						t.Fatal(err)
					}
				}
				mustIngest(t, data, "rollback", in.dataset)
			default:
				if _, err := c.Activate(t.Context(), in.dataset, other(t, data, in.dataset)); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, in := range set {
			m, err := c.Current(t.Context(), in.dataset)
			if err != nil {
				t.Fatal(err)
			}
			waitFor(t, fmt.Sprint(in.dataset, " ", m.Generation), func() bool {
				_, b, _ := get(t, s.URL+"/status")
				_, b, _ = strings.Cut(b, `"name":"`+in.dataset+`"`)
				b, _, _ = strings.Cut(b, `"name":`)
				return strings.Contains(b, fmt.Sprintf(`"generation":%d,`, m.Generation))
			})
		}
	}
	cancel()
	wg.Wait()
	select {
	case err := <-failed:
		t.Fatalf("%v\n%s", err, s.Log())
	default:
	}
	t.Logf("%d requests, %d of them answered 304, %d swaps of %d data sets", requests.Load(), notModified.Load(), swaps, len(sets[0]))
	if requests.Load() == 0 || notModified.Load() == 0 {
		t.Error("there was no load")
	}
}

// other returns the newest unpublished generation.
func other(t *testing.T, data, name string) uint64 {
	t.Helper()
	list, err := catalogOf(t, data).List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var found uint64
	for _, in := range list {
		if in.Dataset == name && !in.Current && in.Err == nil {
			found = in.Generation
		}
	}
	if found == 0 {
		t.Fatalf("%s has one generation only", name)
	}
	return found
}
