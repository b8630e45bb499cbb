package endtoend

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"quadrille/cmd/internal/testfile"
	"quadrille/internal/testrace"
)

// answers returns the bodies of the answers to some requests that need all data sets.
func answers(t *testing.T, url string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, path := range questions {
		code, body, _ := get(t, url+path)
		if code != 200 {
			t.Fatalf("%s: %d %s", path, code, body)
		}
		all[path] = body
	}
	return all
}

var questions = []string{
	"/tiles/country/2/1/1.geojson", "/regions/within?bbox=-4,-4,4,4", "/places/within?bbox=-4,-4,4,4", "/places/nearby?lat=1&lon=1&limit=50",
	"/places/search?q=town", "/airports/within?bbox=-4,-4,4,4", "/stations/within?bbox=-4,-4,4,4", "/ip/20.0.1.5", "/places/7",
	"/airports/X00003",
}

// right sends all requests. Each response must be the right answer, or a problem document for a
// fault of the server. It returns the numbers of both.
func right(t *testing.T, url string, want map[string]string, also ...map[string]string) (good, refused int) {
	t.Helper()
	for _, path := range questions {
		code, body, h := get(t, url+path)
		ok := body == want[path]
		for _, m := range also {
			ok = ok || body == m[path]
		}
		switch {
		case code == 200 && ok:
			good++
		case (code == 500 && strings.Contains(body, `"data-corrupt"`) || code == 503) && h.Get("Content-Type") == "application/problem+json":
			refused++
		default:
			t.Errorf("%s: %d %.300s", path, code, body)
		}
	}
	return good, refused
}

// largest returns the largest file of a generation with a suffix.
func largest(t *testing.T, data, name, generation, suffix string) string {
	t.Helper()
	return bySize(t, data, name, generation, suffix)[0]
}

// bySize returns the files of a generation with a suffix, the largest first.
func bySize(t *testing.T, data, name, generation, suffix string) (found []string) {
	t.Helper()
	sizes := map[string]int64{}
	err := filepath.WalkDir(filepath.Join(data, name, generation), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, suffix) {
			return err
		}
		info, err := d.Info()
		if err == nil {
			found, sizes[path] = append(found, path), info.Size()
		}
		return err
	})
	if err != nil || len(found) == 0 {
		t.Fatalf("no %s in %s of %s, %v", suffix, generation, name, err)
	}
	slices.SortFunc(found, func(a, b string) int { return cmp.Compare(sizes[b], sizes[a]) })
	return found
}

func damage(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// The file is changed in place, so that a server that has it open sees the change.
	if b = change(b); b == nil {
		err = os.Remove(path)
	} else {
		err = os.WriteFile(path, b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func flip(b []byte) []byte {
	for i := len(b) / 4; i < len(b)/4+64 && i < len(b); i++ {
		b[i] ^= 0x55
	}
	return b
}

// TestDamagedGeneration publishes generations with every kind of damage while a server runs. Either
// the previous generation stays in service, or requests that need the damaged part are refused. No
// answer is wrong.
func TestDamagedGeneration(t *testing.T) {
	testrace.SkipUnderRace(t, "one client asks, which TestSwapsUnderLoad does at once")
	dir, data := t.TempDir(), t.TempDir()
	for _, mark := range []string{"Aye", "Bee"} {
		for _, in := range inputs(t, dir, mark, 400) {
			mustIngest(t, data, in.args...)
		}
	}
	s := serve(t, data)
	newer := answers(t, s.URL)
	c := catalogOf(t, data)
	names := []string{"boundaries", "places", "airports", "stations", "ip"}
	current := map[string][]byte{}
	for _, name := range names {
		b := testfile.Read(t, filepath.Join(data, name, "CURRENT"))
		current[name] = b
		if _, err := c.Activate(t.Context(), name, 1); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, "generation 1", func() bool {
		_, b, _ := get(t, s.URL+"/status")
		return !strings.Contains(b, `"generation":2,`)
	})
	older := answers(t, s.URL)
	const g2 = "g0000000002"
	if !full {
		names = []string{"places", "ip"}
	}
	for _, tt := range []struct {
		name   string
		file   string // suffix of its name
		change func([]byte) []byte
		opens  bool // it may open, because no answer depends on the damaged part
	}{
		{"manifest gone", "manifest.json", func([]byte) []byte { return nil }, false},
		{"manifest of another", "manifest.json", func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("Bee"), []byte("Cee")) }, true},
		{"manifest truncated", "manifest.json", func(b []byte) []byte { return b[:len(b)/2] }, false},
		{"manifest empty", "manifest.json", func([]byte) []byte { return []byte{} }, false},
		{"table gone", ".sst", func([]byte) []byte { return nil }, false},
		{"table truncated", ".sst", func(b []byte) []byte { return b[:len(b)-len(b)/3] }, false},
		{"table flipped", ".sst", flip, false},
		{"table of zeros", ".sst", func(b []byte) []byte { return make([]byte, len(b)) }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, name := range names {
				path := largest(t, data, name, g2, tt.file)
				whole := testfile.Read(t, path)
				damage(t, path, tt.change)
				// The commands refuse this generation, but another program could still publish it.
				cmd, out := ingest(t, data, "verify", name)
				testfile.Write(t, filepath.Join(data, name, "CURRENT.x"), current[name])
				if err := os.Rename(filepath.Join(data, name, "CURRENT.x"), filepath.Join(data, name, "CURRENT")); err != nil {
					t.Fatal(err)
				}
				var exit *exec.ExitError
				if err := cmd.Run(); !bytes.Equal(read(t, path), whole) && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
					t.Errorf("verify finds nothing wrong with %s: %v %s", name, err, out)
				}
				taken := func() string {
					_, b, _ := get(t, s.URL+"/status")
					_, b, _ = strings.Cut(b, `"name":"`+name+`"`)
					b, _, _ = strings.Cut(b, `"name":`)
					return b
				}
				waitFor(t, "an opinion of "+name, func() bool {
					b := taken()
					return strings.Contains(b, `"generation":2,`) || !strings.Contains(b, `"state":"serving"`)
				})
				if st := taken(); !tt.opens && strings.Contains(st, `"generation":2,`) {
					t.Errorf("%s is in service: %s", name, st)
				}
				_, refused := right(t, s.URL, older, newer)
				if !tt.opens && refused > 0 {
					t.Errorf("%d questions are refused though an intact generation is there", refused)
				}
				// Restore the intact file.
				testfile.Write(t, path, whole)
				if _, err := c.Activate(t.Context(), name, 1); err != nil {
					t.Fatal(err)
				}
				waitFor(t, name+" generation 1 again", func() bool {
					b := taken()
					return strings.Contains(b, `"generation":1,`) && strings.Contains(b, `"state":"serving"`)
				})
			}
			if good, _ := right(t, s.URL, older); good != len(questions) {
				t.Errorf("%d of %d answers are right after the damage", good, len(questions))
			}
		})
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestDamageWhileServing damages blocks of files that a server has open. A request that needs such
// a block is refused, and the others are answered.
func TestDamageWhileServing(t *testing.T) {
	dir, data := t.TempDir(), t.TempDir()
	for _, in := range inputs(t, dir, "Aye", 4000) {
		mustIngest(t, data, in.args...)
	}
	first := serve(t, data)
	want := answers(t, first.URL)
	s := serve(t, data, "--cache", "1MiB") // it has read nothing yet
	for _, name := range []string{"boundaries", "places", "airports", "stations", "ip"} {
		// Which table is the largest depends on how well each compresses, so all are damaged. A few
		// bytes change in each block of the first three quarters, so no block there decodes.
		for _, path := range bySize(t, data, name, "g0000000001", ".sst") {
			damage(t, path, func(b []byte) []byte {
				for i := 16; i < len(b)*3/4; i += 64 {
					b[i] ^= 0x55
				}
				return b
			})
		}
	}
	if code, body, _ := get(t, s.URL+"/readyz"); code != 200 {
		t.Errorf("before anything was read: readyz %d %s", code, body)
	}
	good, refused := right(t, s.URL, want)
	if refused == 0 {
		t.Errorf("all %d questions are answered from damaged blocks", good)
	}
	// The server finds the damage that causes the refusals, and reports it until there is a good
	// generation of each data set.
	waitFor(t, "the damage of several data sets in /status", func() bool {
		_, ready, _ := get(t, s.URL+"/readyz")
		_, b, _ := get(t, s.URL+"/status")
		return strings.Count(b, `"state":"damaged"`) > 1 && strings.Contains(ready, "places")
	})
	code, body, h := get(t, s.URL+"/readyz")
	if code != 503 || !strings.Contains(body, `"data-damaged"`) || !strings.Contains(body, "places") ||
		!strings.Contains(body, "ingest rollback") || h.Get("Retry-After") == "" {
		t.Errorf("readyz: %d %s", code, body)
	}
	if _, body, _ := get(t, s.URL+"/metrics"); !strings.Contains(body, `quadrille_dataset_damaged{dataset="places"} 1`) {
		t.Error("no metric tells of the damage of places")
	}
	if code, body, _ := get(t, s.URL+"/healthz"); code != 200 {
		t.Errorf("healthz: %d %s", code, body)
	}
	// A server that starts now reports the generations that it cannot open, or refuses requests in
	// the same way.
	right(t, serve(t, data).URL, want)
	t.Logf("%d answered, %d refused", good, refused)
	for _, in := range inputs(t, dir, "Bee", 400) {
		mustIngest(t, data, in.args...)
	}
	waitFor(t, "readiness after good generations", func() bool {
		code, _, _ := get(t, s.URL+"/readyz")
		return code == 200
	})
	if _, b, _ := get(t, s.URL+"/status"); strings.Contains(b, `"state":"damaged"`) {
		t.Errorf("data sets are called damaged still: %s", b)
	}
	answers(t, s.URL)
}

// TestFullDisk ingests onto a disk that is too small. The error says so, and nothing is published.
// When there is room, the ingest succeeds.
func TestFullDisk(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs a tmpfs")
	}
	if !full {
		t.Skip("fills a disk of half a gigabyte; QUADRILLE_FULL=1 runs it")
	}
	small := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=512m", "tmpfs", small).CombinedOutput(); err != nil {
		t.Skipf("a small disk cannot be mounted here: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", small).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	dir := t.TempDir()
	few, many := inputs(t, dir, "Aye", 20), inputs(t, dir, "Bee", 4000)
	for i, in := range few {
		if in.dataset != "places" {
			continue
		}
		data := filepath.Join(small, in.dataset)
		mustIngest(t, data, in.args...)
		want := rows(t, data, in.dataset)
		s := serve(t, data)
		_, place, _ := get(t, s.URL+"/places/7")
		// The free space left on the disk is too small for any build.
		ballast := filepath.Join(small, "ballast")
		if err := exec.Command("dd", "if=/dev/zero", "of="+ballast, "bs=1M").Run(); err == nil {
			t.Fatal("the disk is not full")
		}
		info, err := os.Stat(ballast)
		if err == nil {
			err = os.Truncate(ballast, info.Size()-1<<20)
		}
		if err != nil {
			t.Fatal(err)
		}
		cmd, out := ingest(t, data, many[i].args...)
		var exit *exec.ExitError
		if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(out.String(), "no space left") ||
			strings.Contains(out.String(), "goroutine ") {
			t.Errorf("%s: %v: %s", in.dataset, err, out)
		}
		if !strings.Contains(out.String(), "Make room") {
			t.Errorf("it does not say what to do: %s", out)
		}
		if code, body, _ := get(t, s.URL+"/places/7"); code != 200 || body != place {
			t.Errorf("the server answers %d %s", code, body)
		}
		if code, body, _ := get(t, s.URL+"/readyz"); code != 200 {
			t.Errorf("the server is not ready: %s", body)
		}
		if got := rows(t, data, in.dataset); got != want {
			t.Errorf("%s: another generation is published", in.dataset)
		}
		mustIngest(t, data, "verify", in.dataset)
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		mustIngest(t, data, many[i].args...)
		waitFor(t, "the generation made once there was room", func() bool {
			_, b, _ := get(t, s.URL+"/status")
			return strings.Contains(b, `"generation":2,`) || strings.Contains(b, `"generation":3,`)
		})
		dirs, err := filepath.Glob(filepath.Join(data, in.dataset, "g*"))
		if err != nil || len(dirs) != 2 {
			t.Errorf("what the failed build left is still there: %q, %v", dirs, err)
		}
		s.Stop(t)
		if err := os.RemoveAll(data); err != nil {
			t.Fatal(err)
		}
	}
}
