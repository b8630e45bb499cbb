package pebblestore

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"path"
	"strings"
	"testing"

	"quadrille/cellstore"
	"quadrille/internal/testrace"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// damaged returns a copy of a file system with one bit of a file changed.
func damaged(t testing.TB, mem *vfs.MemFS, file string, offset int) *vfs.MemFS {
	out := vfs.NewMem()
	if _, err := vfs.Clone(mem, out, "s", "s"); err != nil {
		t.Fatal(err)
	}
	data := must(readFile(out, file))
	data[offset] ^= 0x10
	must(0, writeFile(out, file, data))
	return out
}

// TestFlippedByte damages a store in every place. Reads return the right answer or ErrCorrupt, but
// no wrong answer, and they do not panic.
func TestFlippedByte(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine damages, opens and reads again and again")
	mem := vfs.NewMem()
	s, tab := fixture(t, "s", &Options{FS: mem})
	want := must(all(tab, cellstore.Scan{}))
	must(0, s.Close())

	for _, name := range files(mem, "s") {
		base := path.Base(name)
		if !strings.HasSuffix(base, ".sst") && base != "schema.json" && name != currentManifest(mem) {
			continue
		}
		size := len(must(readFile(mem, name)))
		caught := 0
		const step = 3
		for i := 0; i < size; i += step {
			got, err := readAll(damaged(t, mem, name, i))
			switch {
			case err == nil && got != want:
				t.Errorf("%s byte %d: wrong answer %s", name, i, got)
			case err != nil && !newer(err) && !errors.Is(err, cellstore.ErrCorrupt):
				t.Errorf("%s byte %d: %v", name, i, err)
			case err != nil:
				caught++
			}
		}
		if caught == 0 {
			t.Errorf("%s: no damage was noticed", name)
		}
		t.Logf("%s: %d of %d noticed", name, caught, size/step)
	}
}

// currentManifest returns the path of the current list of files (Pebble's MANIFEST) of the table t.
func currentManifest(fsys vfs.FS) string {
	return must(pebble.Peek("s/tables/t/db", fsys)).ManifestFilename
}

// newer reports whether damage made the file look like one of a later format.
func newer(err error) bool { return errors.Is(err, cellstore.ErrNewer) }

func readAll(mem *vfs.MemFS) (string, error) {
	s, err := Open("s", &Options{FS: mem, ReadOnly: true})
	if err != nil {
		return "", err
	}
	defer s.Close()
	tab, err := s.Table(ctx, "t")
	if err != nil {
		return "", err
	}
	return all(tab, cellstore.Scan{})
}

// Undamaged rows can still be read after a read has met damage.
func TestReadsAroundDamage(t *testing.T) {
	mem := vfs.NewMem()
	s := must(Open("s", &Options{FS: mem}))
	must(0, s.CreateTable(ctx, cellstore.Schema{
		Table:    "t",
		Families: []cellstore.Family{{Name: "a", BlockSize: 1 << 10, Compression: cellstore.CompressionNone}},
	}))
	load := must(must(s.Table(ctx, "t")).Bulk(ctx))
	for i := range 50 {
		must(0, load.Add(fmt.Appendf(nil, "%03d", i), cell("a", "q", 1, strings.Repeat(fmt.Sprintf("%03d", i), 100))))
	}
	must(0, load.Commit(ctx))
	must(0, s.Close())
	for _, name := range files(mem, "s") {
		if strings.HasSuffix(name, ".sst") {
			mem = damaged(t, mem, name, 10)
		}
	}
	var log strings.Builder
	s = must(Open("s", &Options{FS: mem, ReadOnly: true, Logger: slog.New(slog.NewTextHandler(&log, nil))}))
	defer s.Close()
	tab := must(s.Table(ctx, "t"))
	var row cellstore.Row
	for range 3 {
		_, err := tab.Get(ctx, []byte("000"), nil, &row)
		wantErr(t, "damaged row", err, cellstore.ErrCorrupt)
		if found, err := tab.Get(ctx, []byte("049"), nil, &row); !found || err != nil {
			t.Fatal("undamaged row", found, err)
		}
	}
	rows := 0
	for row, err := range tab.Scan(ctx, cellstore.Scan{}) {
		if rows++; err == nil {
			t.Errorf("row %q before the error", row.Key)
		}
	}
	if rows != 1 {
		t.Errorf("scan yielded %d times", rows)
	}
	if logged := log.String(); strings.Count(logged, "\n") != 1 || !strings.Contains(logged, ".sst is damaged: ") ||
		strings.Contains(logged, "goroutine") || len(logged) > 500 {
		t.Errorf("the damage is to be told once: %s", logged)
	}
}

// A table whose files are gone, or cut short, is damaged, not missing.
func TestMissingFile(t *testing.T) {
	for _, tt := range []struct {
		suffix string
		keep   int // bytes of the file
	}{{".sst", -1}, {"MANIFEST", -1}, {"ledger", -1}, {"schema.json", -1}, {".sst", 0}, {".sst", 100}} {
		mem := vfs.NewMem()
		s, _ := fixture(t, "s", &Options{FS: mem})
		must(0, s.Close())
		suffix := tt.suffix
		if suffix == "MANIFEST" {
			suffix = currentManifest(mem)
		}
		for _, name := range files(mem, "s") {
			if !strings.HasSuffix(name, suffix) {
				continue
			}
			if tt.keep < 0 {
				must(0, mem.Remove(name))
			} else {
				must(0, writeFile(mem, name, must(readFile(mem, name))[:tt.keep]))
			}
		}
		if _, err := readAll(mem); !errors.Is(err, cellstore.ErrCorrupt) {
			t.Errorf("with %d bytes of %s: %v, want ErrCorrupt", tt.keep, suffix, err)
		}
	}
}

func TestNewerFormatIsRefused(t *testing.T) {
	mem := vfs.NewMem()
	s, _ := fixture(t, "s", &Options{FS: mem})
	must(0, s.Close())
	name := "s/tables/t/schema.json"
	data := strings.Replace(string(must(readFile(mem, name))), `"format":1`, `"format":3`, 1)
	must(0, writeFile(mem, name, []byte(data)))
	_, err := readAll(mem)
	if !errors.Is(err, cellstore.ErrNewer) || errors.Is(err, cellstore.ErrCorrupt) || !strings.Contains(err.Error(), "update the program") {
		t.Errorf("got %v", err)
	}
	// This is the mark of a newer engine's database.
	mem = vfs.NewMem()
	s, _ = fixture(t, "s", &Options{FS: mem})
	must(0, s.Close())
	for _, name := range files(mem, "s") {
		if i := strings.Index(name, "marker.format-version."); i >= 0 {
			must(0, mem.Rename(name, name[:i]+"marker.format-version.000999.999"))
		}
	}
	was := imageOf(mem)
	s = must(Open("s", &Options{FS: mem}))
	_, err = s.Table(ctx, "t")
	if !errors.Is(err, cellstore.ErrNewer) || errors.Is(err, cellstore.ErrCorrupt) {
		t.Errorf("of the engine: %v", err)
	}
	must(0, s.Close())
	if changed := was.Differ(imageOf(mem)); len(changed) > 0 {
		t.Errorf("%q were changed", changed)
	}
}

// A directory with other files is not an empty store. Hidden files and lost+found, which a new disk
// has, do not count.
func TestForeignDirectory(t *testing.T) {
	for name, taken := range map[string]bool{"lost+found": true, ".snapshot": true, "boundaries": false, "tables2": false, "LOCK.old": false} {
		mem := vfs.NewMem()
		must(0, mem.MkdirAll("s/"+name, 0o755))
		s, err := Open("s", &Options{FS: mem})
		if (err == nil) != taken {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			if _, err := mem.Stat("s/tables"); err == nil {
				t.Errorf("%s: tables are made", name)
			}
			continue
		}
		must(0, s.Close())
		s, err = Open("s", &Options{FS: mem})
		must(0, err)
		must(0, s.Close())
	}
}

// FuzzSchema opens tables whose schema.json has any content with a valid checksum.
func FuzzSchema(f *testing.F) {
	mem := vfs.NewMem()
	stored := newStoredTable(must(cellstore.Schema{Table: "t", Families: []cellstore.Family{{Name: "b"}, {Name: "a"}}}.Normalize()))
	must(0, writeSchema(mem, "good", stored))
	file := must(mem.Open("good"))
	f.Add(must(io.ReadAll(file)))
	for _, s := range []string{
		``, `null`, `{}`, `{"name":"t"}`, `{"name":"t","next_byte":2,"families":[{"byte":1,"name":"f","max_versions":-7}]}`,
		`{"name":"t","next_byte":3,"families":[{"byte":1,"name":"f","max_versions":1,"block_size":16384},{"byte":1,"name":"g","max_versions":1,"block_size":16384}]}`,
		`{"name":"t","next_byte":2,"families":[{"byte":1,"name":"f","max_versions":1,"ttl_ms":9223372036854775807}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, table []byte) {
		data, err := json.Marshal(schemaFile{Format: 1, Checksum: fmt.Sprintf("%08x", crc32.Checksum(table, crcTable)), Table: table})
		if err != nil {
			data = table // not JSON: as the whole file
		}
		stored, err := parseSchema(data)
		if err != nil {
			return
		}
		if _, err := stored.inForce(stored).Normalize(); err != nil {
			t.Fatal(err)
		}
		stored.families()
	})
}

// TestReplacedFile: a sorted file replaces another one, and each is intact by itself. In an open
// table that is damage, and not a lack of rows.
func TestReplacedFile(t *testing.T) {
	mem := vfs.NewMem()
	s := must(Open("s", &Options{FS: mem}))
	var ssts []string
	for i, name := range []string{"t", "other"} {
		must(0, s.CreateTable(ctx, cellstore.Schema{Table: name, Families: []cellstore.Family{{Name: "a"}}}))
		load := must(must(s.Table(ctx, name)).Bulk(ctx))
		for row := range 100 * (i + 1) {
			must(0, load.Add(fmt.Appendf(nil, "%s%03d", name, row), cell("a", "q", 1, name)))
		}
		must(0, load.Commit(ctx))
	}
	must(0, s.Close())
	for _, name := range files(mem, "s") {
		if strings.HasSuffix(name, ".sst") {
			ssts = append(ssts, name)
		}
	}
	if len(ssts) != 2 {
		t.Fatal(ssts)
	}
	for _, readOnly := range []bool{true, false} {
		s := must(Open("s", &Options{FS: mem, ReadOnly: readOnly}))
		tables := []cellstore.Table{must(s.Table(ctx, "t")), must(s.Table(ctx, "other"))}
		swap := func() {
			must(0, mem.Rename(ssts[0], "x"))
			must(0, mem.Rename(ssts[1], ssts[0]))
			must(0, mem.Rename("x", ssts[1]))
		}
		swap()
		for i, tab := range tables {
			// The engine may have opened the file before in order to count its entries.
			if rows, err := all(tab, cellstore.Scan{}); !errors.Is(err, cellstore.ErrCorrupt) &&
				(readOnly || err != nil || strings.Count(rows, "[") != 100*(i+1)) {
				t.Errorf("read only %v: %d rows, %v", readOnly, strings.Count(rows, "["), err)
			}
		}
		swap()
		for _, tab := range tables {
			// A writable table may still have the replaced file open, and read from it.
			if rows, err := all(tab, cellstore.Scan{}); readOnly && (err != nil || strings.Count(rows, "[") < 100) {
				t.Errorf("read only %v, put back: %d rows, %v", readOnly, strings.Count(rows, "["), err)
			}
		}
		must(0, s.Close())
	}
}

// TestReplacedLedger: another file, such as that of a backup, replaces the ledger of an open table.
// Closing the table writes its own ledger again. A log that is truncated afterwards is therefore
// reported as damaged, and not as the result of a crash.
func TestReplacedLedger(t *testing.T) {
	for _, what := range []string{"older", "removed"} {
		mem := vfs.NewMem()
		s, tab := fixture(t, "s", &Options{FS: mem})
		ledger := tab.ledgerPath()
		older := must(readFile(mem, ledger))
		for i := range 50 {
			must(0, tab.Apply(ctx, cellstore.Mutation{
				Row: fmt.Appendf(nil, "w%03d", i),
				Ops: []cellstore.Op{cellstore.PutAt("a", []byte("q"), 1, nil)},
			}))
		}
		if what == "older" {
			must(0, writeFile(mem, ledger, older))
		} else {
			must(0, mem.Remove(ledger))
		}
		must(0, s.Close())
		whole := imageOf(mem)
		if rows, _, err := readForWriting(must(whole.Mount(whole))); err != nil || strings.Count(rows, "[7730") != 50 {
			t.Errorf("%s: %s, %v", what, rows, err)
		}
		cut := 0
		for _, name := range files(mem, "s") {
			if strings.HasSuffix(name, ".log") && len(must(readFile(mem, name))) > 100 {
				cut++
				must(0, writeFile(mem, name, must(readFile(mem, name))[:100]))
			}
		}
		if rows, _, err := readForWriting(mem); cut != 1 || !errors.Is(err, cellstore.ErrCorrupt) {
			t.Errorf("%s, and %d logs cut: %d rows, %v", what, cut, strings.Count(rows, "[7730"), err)
		}
	}
}
