package endtoend

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"quadrille/internal/damagetest"
	"quadrille/internal/testseed"

	"quadrille/cmd/internal/programs"
)

// writer sends requests with a key that may write every collection.
type writer struct{ file, key string }

func newWriter(t *testing.T) writer {
	t.Helper()
	file := filepath.Join(t.TempDir(), "keys.txt")
	out, err := exec.Command(programs.Path(t, programs.TileServer), "keys", "new", "judge", "--keys", file, "--scope", "write:*").Output()
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(string(out))
	return writer{file, words[len(words)-1]}
}

func (w writer) do(method, url, body string) (int, string, error) {
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("X-API-Key", w.key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res.StatusCode, string(b), err
}

// create makes a collection.
func (w writer) create(t *testing.T, s *programs.Server, name string) {
	t.Helper()
	if code, body, err := w.do(http.MethodPut, s.URL+"/points/"+name, `{"title":"Judged"}`); err != nil || code != http.StatusCreated {
		t.Fatal(code, body, err)
	}
}

// send changes a point, or removes it if the value is empty, and reports the outcome to the judge.
func (w writer) send(s *programs.Server, j *damagetest.Judge, id, value string) {
	method, body := http.MethodDelete, ""
	if value != "" {
		method, body = http.MethodPut, fmt.Sprintf(`{"type":"Feature","geometry":{"type":"Point","coordinates":[8,47]},"properties":{"v":%q,"pad":%q}}`,
			value, strings.Repeat("x", 4000))
	}
	code, _, err := w.do(method, s.URL+"/points/judged/"+id, body)
	if err == nil && (code/100 == 2 || value == "" && code == http.StatusNotFound) {
		j.RecordAcked(id, value)
	} else {
		j.RecordTried(id, value)
	}
}

// points reads all points of the collection.
func (w writer) points(t *testing.T, s *programs.Server) map[string]string {
	t.Helper()
	code, body, err := w.do(http.MethodGet, s.URL+"/points/judged/within?bbox=-180,-90,180,90&format=ndjson", "")
	if err != nil || code != http.StatusOK {
		t.Fatalf("%d %.300s %v: %s", code, body, err, s.Log())
	}
	there := map[string]string{}
	for dec := json.NewDecoder(strings.NewReader(body)); ; {
		var f struct {
			ID         string `json:"id"`
			Properties struct {
				V string `json:"v"`
			} `json:"properties"`
		}
		err := dec.Decode(&f)
		if errors.Is(err, io.EOF) {
			return there
		}
		if err != nil || f.Properties.V == "" {
			t.Fatalf("%v: %v", f, err)
		}
		there[f.ID] = f.Properties.V
	}
}

// smallDisk returns a directory in a file system of its own with the given size.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("needs a tmpfs")
	}
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("a small disk cannot be mounted here: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	return dir
}

// fill fills a disk until leave bytes are free.
func fill(path string, leave int64) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return // there is no room for its name
	}
	defer f.Close()
	for block := bytes.Repeat([]byte{1}, 16<<10); ; {
		if n, err := f.Write(block); err != nil || n < len(block) {
			break
		}
	}
	if info, err := f.Stat(); err == nil && leave > 0 {
		_ = f.Truncate(max(info.Size()-leave, 0)) // on an error the disk stays full, which also serves
	}
}

// TestLiveKilled repeatedly kills a server during writes and starts it again on the same directory.
// In half of the rounds the disk is full or about to fill up. No acknowledged write is lost, and no
// removed point comes back.
func TestLiveKilled(t *testing.T) {
	rounds := 10
	switch {
	case full:
		rounds = 50
	case testing.Short():
		rounds = 4
	}
	// A table is opened for writing when there is room for its logs twice. A quick machine writes some 10 MB of them.
	small := smallDisk(t, "96m")
	seed := testseed.Of(t)
	r := rand.New(rand.NewPCG(seed, 0))
	client, data := newWriter(t), t.TempDir()
	var s *programs.Server
	start := func() {
		s = serve(t, data, "--live", filepath.Join(small, "live"), "--keys", client.file)
	}
	start()
	t.Cleanup(func() { s.Kill() })
	client.create(t, s, "judged")
	const writers = 4
	var judges [writers]*damagetest.Judge
	for w := range judges {
		judges[w] = damagetest.NewJudge()
	}
	checkAll := func(when string) {
		all := client.points(t, s)
		for w, j := range judges {
			mine := maps.Clone(all)
			maps.DeleteFunc(mine, func(id, _ string) bool { return !strings.HasPrefix(id, fmt.Sprintf("w%d-", w)) })
			j.Check(t, when, mine)
		}
	}
	ballast := filepath.Join(small, "ballast")
	for round := range rounds {
		filling, running := round%2 == 1, s
		var wg sync.WaitGroup
		over := make(chan struct{})
		after := time.Duration(50+r.IntN(500)) * time.Millisecond
		if filling {
			// The rest of the disk is filled at once, or gradually by the writes.
			moment, leave := time.Duration(r.Int64N(int64(after))), int64(r.IntN(2<<20))
			wg.Go(func() {
				time.Sleep(moment)
				fill(ballast, leave)
			})
		}
		for w, j := range judges {
			rw := rand.New(rand.NewPCG(seed, uint64(round*writers+w+1)))
			wg.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-over:
						return
					default:
					}
					value := fmt.Sprintf("%d.%d.%d", round, w, n)
					if rw.IntN(4) == 0 {
						value = ""
					}
					client.send(running, j, fmt.Sprintf("w%d-%d", w, rw.IntN(40)), value)
				}
			})
		}
		time.Sleep(after)
		running.Kill()
		close(over)
		wg.Wait()
		if filling && r.IntN(2) == 0 {
			fill(ballast, 0)
		}
		start() // full or not
		checkAll(fmt.Sprintf("round %d", round))
		if filling {
			if err := os.Remove(ballast); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			waitFor(t, "a write after there is room", func() bool {
				client.send(s, judges[0], "w0-0", fmt.Sprint(round, ".healed"))
				return !judges[0].IsUnsure("w0-0")
			})
			checkAll(fmt.Sprintf("round %d, with room again", round))
		}
		if lines := strings.Count(s.Log(), "\n"); lines > 500 {
			t.Errorf("round %d: %d lines were logged", round, lines)
		}
	}
}

// TestLiveDamaged damages the files of a live store between two runs of its server. The server
// reports the collection as damaged, continues to serve the others, and removes nothing.
func TestLiveDamaged(t *testing.T) {
	client, data, whole := newWriter(t), t.TempDir(), filepath.Join(t.TempDir(), "live")
	first := serve(t, data, "--live", whole, "--keys", client.file)
	client.create(t, first, "judged")
	client.create(t, first, "other")
	j := damagetest.NewJudge()
	for i := range 200 {
		client.send(first, j, fmt.Sprint("p", i), fmt.Sprint(i))
	}
	first.Kill() // so everything stays in the first log
	if j.AckedCount() != 200 {
		t.Fatalf("%d writes were acknowledged", j.AckedCount())
	}
	for name, change := range map[string]func(t *testing.T, dir string){
		"bit of byte 40 of the log":     flipAt(".log", 40),
		"bit of byte 50,000 of the log": flipAt(".log", 50_000),
		"no log":                        removeAll(".log"),
		"no schema.json":                removeAll("schema.json"),
		"no ledger":                     removeAll("ledger"),
		"a bit of the list of files":    flipAt("MANIFEST", 20),
		"no list of files":              removeAll("MANIFEST"),
		"no database": func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, "db")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "live")
			if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			table := filepath.Join(dir, "tables", "points_judged")
			change(t, table)
			before := listing(t, table)
			s := serve(t, data, "--live", dir, "--keys", client.file)
			code, body, err := client.do(http.MethodGet, s.URL+"/points/judged/within?bbox=-180,-90,180,90", "")
			if err != nil || code != http.StatusServiceUnavailable || !strings.Contains(body, `"data-damaged"`) {
				t.Errorf("the damaged collection answers %d %.300s %v", code, body, err)
			}
			code, body, err = client.do(http.MethodGet, s.URL+"/points/other", "")
			if err != nil || code != http.StatusOK {
				t.Errorf("another collection answers %d %s %v", code, body, err)
			}
			// A collection that cannot be read may be private, so only the log and the admin
			// listener name it.
			if _, body, _ := get(t, s.URL+"/status"); !strings.Contains(body, `"damaged"`) || strings.Contains(body, "judged") {
				t.Errorf("/status does not tell of a damaged collection, or names it: %s", body)
			}
			s.Stop(t)
			if strings.Contains(s.Log(), "goroutine ") || !strings.Contains(s.Log(), "judged") {
				t.Errorf("it logs %s", s.Log())
			}
			after := listing(t, table)
			for _, path := range before {
				if !slices.Contains(after, path) {
					t.Errorf("%s is gone", path)
				}
			}
		})
	}
}

// listing returns all paths below a directory.
func listing(t *testing.T, dir string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		paths = append(paths, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// eachFile calls a function for each file below a directory whose name contains part.
func eachFile(t *testing.T, dir, part string, do func(path string)) {
	t.Helper()
	found := false
	for _, path := range listing(t, dir) {
		base := filepath.Base(path)
		if strings.Contains(base, part) && !strings.HasPrefix(base, "marker") {
			found = true
			do(path)
		}
	}
	if !found {
		t.Fatalf("there is no %s", part)
	}
}

func removeAll(part string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		eachFile(t, dir, part, func(path string) { damage(t, path, func([]byte) []byte { return nil }) })
	}
}

func flipAt(part string, at int) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		eachFile(t, dir, part, func(path string) {
			damage(t, path, func(b []byte) []byte {
				if at < len(b) {
					b[at] ^= 0x10
				}
				return b
			})
		})
	}
}
