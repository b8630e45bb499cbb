package sqlitefile_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quadrille/cmd/internal/sqlitefile"
	"quadrille/cmd/internal/testfile"
)

// made makes a database with a table of one row, and returns its path.
func made(t *testing.T) (name string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "a b?.sqlite")
	db, err := sql.Open("sqlite", "file:"+strings.NewReplacer(" ", "%20", "?", "%3f").Replace(name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE t (v TEXT); INSERT INTO t VALUES ('"+strings.Repeat("x", 2000)+"')"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

// Several connections read a database within their bounds, and nothing is written.
func TestOpen(t *testing.T) {
	name := made(t)
	for most, reads := range map[int]bool{1 << 20: true, 1000: false} {
		db, all, err := sqlitefile.Open(t.Context(), name, 2, sqlitefile.Limits{ValueBytes: most, Columns: 8})
		if err != nil {
			t.Fatal(err)
		}
		for _, conn := range all {
			var v string
			if err := conn.QueryRowContext(t.Context(), "SELECT v FROM t").Scan(&v); (err == nil) != reads {
				t.Errorf("a value of 2000 bytes where %d are borne: %v", most, err)
			}
			for _, refused := range []string{"INSERT INTO t VALUES (1)", "SELECT 1,2,3,4,5,6,7,8,9", "ATTACH ':memory:' AS other"} {
				if _, err := conn.ExecContext(t.Context(), refused); err == nil {
					t.Errorf("%s is done", refused)
				}
			}
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	if left, err := filepath.Glob(filepath.Dir(name) + "/*"); err != nil || len(left) != 1 {
		t.Errorf("beside it are %q, %v", left, err)
	}
}

func TestRefused(t *testing.T) {
	open := func(name string) error {
		db, _, err := sqlitefile.Open(t.Context(), name, 1, sqlitefile.Limits{ValueBytes: 1 << 20, Columns: 8})
		if err == nil {
			db.Close()
		}
		return err
	}
	text := filepath.Join(t.TempDir(), "text")
	testfile.Write(t, text, "no database")
	if err := open(text); !errors.Is(err, sqlitefile.ErrNotSQLite) {
		t.Errorf("of text: %v", err)
	}
	if err := open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "regular file") {
		t.Errorf("of a folder: %v", err)
	}
	if err := open(text + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of nothing: %v", err)
	}
	name := made(t)
	for _, suffix := range []string{"-wal", "-journal"} {
		testfile.Write(t, name+suffix, "x")
		if err := open(name); err == nil || !strings.Contains(err.Error(), name+suffix) {
			t.Errorf("with changes beside it: %v", err)
		}
		if err := os.Remove(name + suffix); err != nil {
			t.Fatal(err)
		}
	}
}

// The error for a damaged file advises to fetch it again.
func TestDamaged(t *testing.T) {
	name := made(t)
	b := testfile.Read(t, name)
	testfile.Write(t, name, b[:len(b)/2])
	db, all, err := sqlitefile.Open(t.Context(), name, 1, sqlitefile.Limits{ValueBytes: 1 << 20, Columns: 8})
	if err == nil {
		defer db.Close()
		var v string
		err = sqlitefile.NameError(name, all[0].QueryRowContext(t.Context(), "SELECT v FROM t").Scan(&v))
	}
	if err == nil || !sqlitefile.IsDamaged(err) || !strings.Contains(err.Error(), "fetch it again") {
		t.Errorf("half of it: %v", err)
	}
	if err := sqlitefile.NameError(name, nil); err != nil {
		t.Error(err)
	}
}
