package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/filelock"
	"quadrille/cellstore/pebblestore"
	"quadrille/cmd/internal/testfile"
	"quadrille/feature"
	"quadrille/internal/testrace"
	"quadrille/internal/testseed"
	"quadrille/places/live"
	"quadrille/places/points"
)

// makeLive makes a directory of live collections with n points each.
func makeLive(t *testing.T, n int, names ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "live")
	inLive(t, dir, func(l *live.Store, _ cellstore.Store) {
		for _, name := range names {
			c, err := l.Create(t.Context(), live.Meta{Name: name, Title: name})
			if err != nil {
				t.Fatal(err)
			}
			var writes []live.Write
			for i := range n {
				writes = append(writes, live.Write{
					ID:         fmt.Sprint(i),
					Lat:        float64(i % 80),
					Lon:        8,
					Properties: []byte(`{"a":1}`),
					Expires:    time.Now().Add(time.Hour),
				})
			}
			if err := c.Write(t.Context(), writes, make([]live.Outcome, n)); err != nil {
				t.Fatal(err)
			}
		}
	})
	return dir
}

func inLive(t *testing.T, dir string, do func(*live.Store, cellstore.Store)) {
	t.Helper()
	store, err := pebblestore.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := live.Open(t.Context(), store, points.LiveKind)
	if err != nil {
		t.Fatal(err)
	}
	do(l, store)
	for _, err := range []error{l.Close(), store.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// spoil damages a collection: it deletes the description and the row of an id.
func spoil(t *testing.T, dir, name string) {
	t.Helper()
	inLive(t, dir, func(_ *live.Store, store cellstore.Store) {
		table, err := store.Table(t.Context(), points.LiveKind.Table(name))
		if err != nil {
			t.Fatal(err)
		}
		for row, family := range map[string]string{"m": "meta", "i3": "id"} {
			if err := table.Apply(t.Context(), cellstore.Mutation{
				Row: []byte(row),
				Ops: []cellstore.Op{cellstore.DeleteColumn(family, nil, cellstore.AllVersions)},
			}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A damaged collection is detected, exported, and repaired; the damaged files are moved away.
func TestRepairLive(t *testing.T) {
	dir := makeLive(t, 30, "shops", "whole")
	prints(t, []string{"live", "verify", dir}, "shops: whole, 30 points", "whole: whole, 30 points")
	spoil(t, dir, "shops")
	fails(t, []string{"live", "verify", dir}, "shops: damaged", "whole: whole, 30 points", "tileserver live repair")
	got := prints(t, []string{"live", "export", dir, "--collection", "shops"},
		`{"type":"Feature","id":"3","geometry":{"type":"Point","coordinates":[8,3]},"properties":{"a":1},"expires":"`, `"collection":"shops"}`)
	if n := strings.Count(got, "\n"); n != 31 {
		t.Errorf("%d lines", n)
	}

	url, log, stop := start(t, "--data", t.TempDir(), "--live", dir)
	answers(t, url+"/points/shops/1", 503, "data-damaged")
	answers(t, url+"/points/whole/1", 200)
	for _, path := range []string{"/readyz", "/status"} {
		answers(t, url+path, 200, `"trouble":[{"store":"live","state":"damaged"`)
	}
	eventually(t, url+"/metrics", `quadrille_store_troubles{state="damaged",store="live"} 1`)
	if got, err := command(t, "live", "repair", dir); err == nil || !strings.Contains(err.Error(), "stop it first") {
		t.Errorf("%v %s", err, got)
	}
	stop()
	if text := log.String(); !strings.Contains(text, "a live collection is damaged") || strings.Contains(text, "goroutine ") {
		t.Errorf("the log:\n%s", text)
	}

	prints(t, []string{"live", "repair", dir}, "shops: 30 points are rescued", "its description is lost, so it is private",
		"what was damaged is in "+filepath.Join(dir, "damaged", "points_shops-"))
	prints(t, []string{"live", "verify", dir}, "shops: whole, 30 points", "whole: whole, 30 points")
	if aside, err := filepath.Glob(filepath.Join(dir, "damaged", "points_shops-*", "db", "*")); err != nil || len(aside) == 0 {
		t.Error("what was damaged is not there any more", err)
	}
	inLive(t, dir, func(l *live.Store, _ cellstore.Store) {
		if c := l.Collection("shops"); c == nil || !c.Meta().Private {
			t.Error("it is not private")
		}
	})
}

// A directory with any name can be repaired.
func TestRepairOddName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "[live]")
	if err := os.Rename(makeLive(t, 3, "shops"), dir); err != nil {
		t.Fatal(err)
	}
	spoil(t, dir, "shops")
	prints(t, []string{"live", "repair", dir}, "shops: 3 points are rescued", "what was damaged is in "+dir)
	prints(t, []string{"live", "verify", dir}, "shops: whole, 3 points")
}

// A repair that was interrupted between two renames can be continued, and no server starts before
// that.
func TestInterruptedRepair(t *testing.T) {
	dir := makeLive(t, 10, "shops", "others")
	ready := makeLive(t, 5, "shops")
	if err := os.Rename(ready, filepath.Join(dir, repairDir)); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, damagedDir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "tables", "points_shops"), filepath.Join(dir, damagedDir, "points_shops-x")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"live", "verify", dir},
		{"live", "export", dir},
		{"--listen", "127.0.0.1:0", "--data", t.TempDir(), "--live", dir},
	} {
		refused(t, "was interrupted: run tileserver live repair", args...)
	}
	if got, err := command(t, "live", "repair", dir); err != nil {
		t.Fatal(err, got)
	}
	prints(t, []string{"live", "verify", dir}, "shops: whole, 5 points", "others: whole, 10 points")
}

// A server makes a backup on request while it writes, and another server starts on the backup.
func TestBackupWhileServing(t *testing.T) {
	dir, backups := makeLive(t, 100, "shops"), t.TempDir()
	_, log, stop := start(t, "--data", t.TempDir(), "--live", dir, "--admin-listen", "127.0.0.1:0", "--backup-dir", backups)
	admin := strings.TrimPrefix(adminOf(t, log), "http://")
	to := filepath.Join(backups, "monday")
	prints(t, []string{"live", "backup", dir, to, "--admin-listen", admin}, "shops: whole, 100 points", "The backup is "+to)
	fails(t, []string{"live", "backup", dir, to, "--admin-listen", admin}, "is there already")
	fails(t, []string{"live", "backup", dir, filepath.Join(backups, ".hidden"), "--admin-listen", admin}, "does not begin with a dot")
	fails(t, []string{"live", "backup", dir, filepath.Join(backups, "other")}, "--admin-listen")
	there := t.TempDir()
	if err := os.Mkdir(filepath.Join(there, "monday"), 0o755); err != nil {
		t.Fatal(err)
	}
	fails(t, []string{"live", "backup", dir, filepath.Join(there, "monday"), "--admin-listen", admin}, "is there already")
	fails(t, []string{
		"live",
		"backup",
		dir,
		filepath.Join(there, "sunday"),
		"--admin-listen",
		admin,
	}, "has made the backup "+filepath.Join(backups, "sunday"), "ask the server of")
	other := makeLive(t, 1, "others")
	inLive(t, other, func(*live.Store, cellstore.Store) {
		fails(t, []string{"live", "backup", other, filepath.Join(backups, "friday"), "--admin-listen", admin}, "of "+dir+", which is not")
	})
	stop()
	prints(t, []string{"live", "backup", dir, filepath.Join(backups, "tuesday")}, "shops: whole, 100 points")
	url, _, stop := start(t, "--data", t.TempDir(), "--live", to)
	if code, got := fetch(t, url+"/points/shops/count"); code != 200 || got != `{"count":100}` {
		t.Errorf("%d %s", code, got)
	}
	stop()
}

// A process that makes backups is killed at random moments. Every directory with the name of a
// backup must be a complete backup.
func TestKillBackup(t *testing.T) {
	if dir := os.Getenv("BACKUP_KILL_DIR"); dir != "" {
		backUpUntilKilled(dir)
	}
	dir := t.TempDir()
	rounds := 3
	if os.Getenv("QUADRILLE_FULL") != "" {
		rounds = 20
	}
	rnd := testseed.Rand(t)
	for range rounds {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKillBackup$")
		cmd.Env = append(os.Environ(), "BACKUP_KILL_DIR="+dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, make([]byte, 1)); err != nil { // the first backup
			t.Fatal(err)
		}
		time.AfterFunc(time.Duration(rnd.IntN(100))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); err == nil || cmd.ProcessState.Exited() {
			t.Fatal("it ended by itself", err)
		}
	}
	all, err := filepath.Glob(filepath.Join(dir, "backup-*"))
	if err != nil || len(all) < rounds {
		t.Fatal(all, err)
	}
	for _, to := range all {
		prints(t, []string{"live", "verify", to}, "taxis: whole, ")
	}
	prints(t, []string{"live", "verify", filepath.Join(dir, "live")}, "taxis: whole, ")
}

func backUpUntilKilled(dir string) {
	ctx := context.Background()
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	store, err := pebblestore.Open(filepath.Join(dir, "live"), nil)
	must(err)
	l, err := live.Open(ctx, store, points.LiveKind)
	must(err)
	c := l.Collection("taxis")
	if c == nil {
		c, err = l.Create(ctx, live.Meta{Name: "taxis"})
		must(err)
	}
	go func() {
		for i := 0; ; i++ {
			must(c.Write(ctx, []live.Write{{
				ID:         fmt.Sprint(i % 1000),
				Lat:        rand.Float64() * 80,
				Lon:        8,
				Properties: []byte(`{}`),
			}}, make([]live.Outcome, 1)))
		}
	}()
	for {
		must(backup(ctx, store, filepath.Join(dir, fmt.Sprintf("backup-%d", time.Now().UnixNano())), io.Discard))
		fmt.Print(".")
	}
}

// Damaged counts of clients do not prevent the start of the server. They are reported and not
// changed.
func TestDamagedUsage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "usage")
	args := []string{"--data", t.TempDir(), "--address-limit", "1000/1d", "--usage", dir}
	url, _, stop := start(t, args...)
	fetch(t, url+"/points")
	stop()
	schema := filepath.Join(dir, "tables", "usage", "schema.json")
	if err := os.Remove(schema); err != nil {
		t.Fatal(err)
	}
	url, log, stop := start(t, args...)
	if code, _ := fetch(t, url+"/points"); code != 200 {
		t.Error(code)
	}
	for _, path := range []string{"/readyz", "/status"} {
		answers(t, url+path, 200, `"trouble":[{"store":"usage","state":"damaged"`)
	}
	stop()
	if !log.has("the counts on the disk are damaged and left as they are") {
		t.Errorf("the log:\n%s", log)
	}
	if logs, err := filepath.Glob(filepath.Join(dir, "tables", "usage", "db", "*")); err != nil || len(logs) == 0 {
		t.Error("the counts are not there any more", err)
	}
}

// If the log of a collection is damaged, everything except the damaged part is rescued.
func TestRescueOfDamagedLog(t *testing.T) {
	dir := makeLive(t, 30, "shops", "whole")
	inLive(t, dir, func(l *live.Store, _ cellstore.Store) { // in a log of its own
		for i := range 100 {
			w := live.Write{ID: fmt.Sprint("new-", i), Lat: 1, Lon: 2, Properties: []byte(`{}`)}
			if err := l.Collection("shops").Write(t.Context(), []live.Write{w}, make([]live.Outcome, 1)); err != nil {
				t.Fatal(err)
			}
		}
	})
	logs, err := filepath.Glob(filepath.Join(dir, "tables", "points_shops", "db", "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatal(logs, err)
	}
	for _, log := range logs {
		b := testfile.Read(t, log)
		if len(b) > 200 {
			b[len(b)/2] ^= 1
		}
		testfile.Write(t, log, b)
	}
	backups := t.TempDir()
	fails(t, []string{"live", "backup", dir, filepath.Join(backups, "monday")}, "points_shops", "see by tileserver live verify")
	if left, err := os.ReadDir(backups); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
	fails(t, []string{"live", "export", dir}, `"id":"29"`, "not all could be read of shops")
	prints(t, []string{"live", "repair", dir}, "shops: damaged", "points are rescued", "not all could be read")
	prints(t, []string{"live", "verify", dir}, "shops: whole", "whole: whole, 30 points")
	inLive(t, dir, func(l *live.Store, _ cellstore.Store) {
		var h feature.Feature
		if err := l.Collection("shops").Get(t.Context(), "29", time.Time{}, &h); err != nil {
			t.Error(err)
		}
	})
}

// TestRepairBesideServer tests that a repair changes nothing beside a server: a server that starts
// while the repair reads keeps its own writes, and a running server keeps its tables.
func TestRepairBesideServer(t *testing.T) {
	dir := makeLive(t, 5, "shops")
	spoil(t, dir, "shops")
	c, ready := &repairLiveCommand{Dir: dir}, filepath.Join(dir, repairDir)
	made, _, err := c.prepare(t.Context(), ready+".tmp", io.Discard)
	if err != nil || len(made) != 1 {
		t.Fatal(made, err)
	}
	store, err := pebblestore.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.replace(made, ready, io.Discard); !errors.Is(err, cellstore.ErrLocked) {
		t.Error(err)
	}
	if _, err := store.Table(t.Context(), points.LiveKind.Table("shops")); err != nil {
		t.Error(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.replace(made, ready, io.Discard); err == nil || !strings.Contains(err.Error(), "has changed since") {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(dir, damagedDir)); err == nil {
		t.Error("something was set aside")
	}
	prints(t, []string{"live", "repair", dir}, "points are rescued")
}

// If two repairs run concurrently, the second does not change the result of the first.
func TestRepairTwice(t *testing.T) {
	dir := makeLive(t, 3, "shops")
	lists, err := filepath.Glob(filepath.Join(dir, "tables", "points_shops", "db", "MANIFEST-*"))
	for _, list := range lists {
		err = errors.Join(err, os.Remove(list))
	}
	if err != nil || len(lists) == 0 {
		t.Fatal(lists, err)
	}
	var second error
	err = (&repairLiveCommand{Dir: dir}).run(t.Context(), writerFunc(func(b []byte) (int, error) {
		if bytes.Contains(b, []byte("rescued")) {
			_, second = command(t, "live", "repair", dir)
		}
		return len(b), nil
	}))
	if err != nil || !errors.Is(second, filelock.ErrLocked) {
		t.Error(err, second)
	}
	prints(t, []string{"live", "verify", dir}, "shops: whole, 3 points")
	if left, err := filepath.Glob(filepath.Join(dir, "repair*")); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// A damaged block in one collection prevents neither the export of the other collections, nor that
// of the rest of the same collection.
func TestExportBesideDamage(t *testing.T) {
	testrace.SkipUnderRace(t, "one server is started and asked, again and again")
	dir := makeLive(t, 3000, "a-shops", "whole")
	inLive(t, dir, func(_ *live.Store, store cellstore.Store) {
		if err := store.(*pebblestore.Store).Compact(t.Context(), points.LiveKind.Table("a-shops")); err != nil {
			t.Fatal(err)
		}
	})
	files, err := filepath.Glob(filepath.Join(dir, "tables", "points_a-shops", "db", "*.sst"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		b := testfile.Read(t, file)
		b[len(b)/2] ^= 1
		testfile.Write(t, file, b)
	}
	got := fails(t, []string{"live", "export", dir}, "whole: 3000 points", "not all could be read of a-shops", `"collection":"a-shops"`)
	if n := strings.Count(got, `"collection":"whole"`); n != 3000 {
		t.Errorf("%d points of the whole one", n)
	}
}

// A collection with another layout is not repaired.
func TestRepairOtherLayout(t *testing.T) {
	for version, text := range map[int]string{
		points.SchemaVersion + 1: "update the program",
		points.SchemaVersion - 1: "use the program that wrote it",
	} {
		dir := makeLive(t, 3, "shops")
		inLive(t, dir, func(_ *live.Store, store cellstore.Store) {
			table, err := store.Table(t.Context(), points.LiveKind.Table("shops"))
			if err != nil {
				t.Fatal(err)
			}
			var row cellstore.Row
			if ok, err := table.Get(t.Context(), []byte("m"), nil, &row); err != nil || !ok {
				t.Fatal(err)
			}
			c := row.Cells[0]
			value := bytes.Replace(c.Value, fmt.Appendf(nil, `"schema_version":%d`, points.SchemaVersion),
				fmt.Appendf(nil, `"schema_version":%d`, version), 1)
			if bytes.Equal(value, c.Value) {
				t.Fatalf("%s", value)
			}
			if err := table.Apply(t.Context(), cellstore.Mutation{
				Row: []byte("m"),
				Ops: []cellstore.Op{cellstore.PutAt(c.Family, nil, c.Timestamp, value)},
			}); err != nil {
				t.Fatal(err)
			}
		})
		for _, do := range []string{"verify", "repair"} {
			fails(t, []string{"live", do, dir}, text)
		}
		if _, err := os.Lstat(filepath.Join(dir, damagedDir)); err == nil {
			t.Error("it was replaced")
		}
	}
}

// If a directory has another purpose, or a table of a newer program, the error reports this. Such a
// directory is treated neither as empty nor as damaged.
func TestLiveOfAnotherLayout(t *testing.T) {
	other := t.TempDir()
	if err := os.Mkdir(filepath.Join(other, "boundaries"), 0o755); err != nil {
		t.Fatal(err)
	}
	strange := makeLive(t, 3, "shops")
	inLive(t, strange, func(_ *live.Store, store cellstore.Store) {
		if err := store.CreateTable(t.Context(), cellstore.Schema{Table: "usage", Families: []cellstore.Family{{Name: "a"}}}); err != nil {
			t.Fatal(err)
		}
	})
	for dir, text := range map[string]string{
		other:   "it has boundaries: name a new or empty directory",
		strange: "has a table usage, which is of no live collection",
	} {
		refused(t, text, "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--live", dir)
	}
	fails(t, []string{"live", "verify", strange}, "has a table usage")
	newer := makeLive(t, 3, "shops")
	schema := filepath.Join(newer, "tables", points.LiveKind.Table("shops"), "schema.json")
	text := testfile.Read(t, schema)
	testfile.Write(t, schema, bytes.Replace(text, []byte(`"format":1`), []byte(`"format":3`), 1))
	for _, do := range []string{"verify", "repair"} {
		fails(t, []string{"live", do, newer}, "update the program")
	}
	_, log, _ := start(t, "--data", t.TempDir(), "--live", newer)
	if text := log.String(); !strings.Contains(text, "of another release") {
		t.Error(text)
	}
}

// sick is a store with a table that cannot be opened.
type sick struct {
	cellstore.Store
	table string
}

func (s sick) Table(ctx context.Context, name string) (cellstore.Table, error) {
	if name == s.table {
		return nil, syscall.EMFILE
	}
	return s.Store.Table(ctx, name)
}

// TestVerifyUnreadable tests a collection that cannot be read, but not because of damage: it is not
// reported as damaged, and the other collections are still checked.
func TestVerifyUnreadable(t *testing.T) {
	dir := makeLive(t, 3, "shops", "whole")
	inLive(t, dir, func(_ *live.Store, store cellstore.Store) {
		var out bytes.Buffer
		damaged, err := verifyLive(t.Context(), sick{store, points.LiveKind.Table("shops")}, &out)
		wantText(t, out.String(), err, true, "whole: whole, 3 points", "shops: mend what keeps it from being read")
		if len(damaged) > 0 || !errors.Is(err, syscall.EMFILE) {
			t.Error(damaged, err)
		}
	})
}

// A backup is refused at a forbidden path, and unfinished copies of earlier runs are removed.
func TestBackupPlaces(t *testing.T) {
	dir, backups := makeLive(t, 3, "shops"), t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{
		filepath.Join(dir, repairDir),
		filepath.Join(link, repairDir),
		filepath.Join(dir, "tables", "x"),
		filepath.Join(backups, "none", "x"),
	} {
		fails(t, []string{"live", "backup", dir, to})
		if _, err := os.Lstat(to); err == nil {
			t.Errorf("%s was made", to)
		}
	}
	for _, left := range []string{unfinished + "sunday", removing + "saturday"} {
		if err := os.MkdirAll(filepath.Join(backups, left, "tables"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	inLive(t, dir, func(_ *live.Store, store cellstore.Store) {
		for _, c := range []struct {
			dir, to string
			want    int
		}{
			{backups, "/", 400}, {backups, ".", 400}, {backups, "..", 400}, {backups, "", 400}, {backups, `a\b`, 400}, {backups, "a/b", 400},
			{dir, repairDir, 500}, {link, repairDir, 500}, {filepath.Join(backups, "none"), "x", 500},
			{backups, "monday", 200}, {backups, "monday", 409},
		} {
			body, err := json.Marshal(map[string]string{"to": c.to})
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest(http.MethodPost, backupPath, bytes.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			if backupHandler(store, dir, c.dir).ServeHTTP(w, r); w.Code != c.want {
				t.Errorf("%s in %s: %d %s", c.to, c.dir, w.Code, w.Body)
			}
		}
	})
	refused(t, "--backup-dir", "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--live", dir, "--backup-dir", dir)
	if got := backupStatus(fmt.Errorf("x: %w", cellstore.ErrNoSpace)); got != http.StatusInsufficientStorage {
		t.Error(got)
	}
	left, err := os.ReadDir(backups)
	if err != nil || len(left) != 1 || left[0].Name() != "monday" {
		t.Error(left, err)
	}
	if adminClient.Transport.(*http.Transport).Proxy != nil {
		t.Error("the admin listener is asked through a proxy")
	}
}
