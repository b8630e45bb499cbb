// Package sqlitefile opens untrusted SQLite databases for reading only. SQLite writes no further
// files next to it, the caller bounds sizes, and views cannot run functions with side effects.
package sqlitefile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Magic is the first bytes of every SQLite database.
const Magic = "SQLite format 3\x00"

// Limits limit the resources that a database may take.
type Limits struct {
	ValueBytes int // bytes of any value
	Columns    int // of a table, or of a result
}

// ErrNotSQLite is matched by the error about a file that is not an SQLite database.
var ErrNotSQLite = errors.New("not an SQLite database")

// Open opens a database with a number of concurrent connections. The caller closes it, which
// closes the connections.
func Open(ctx context.Context, name string, connections int, most Limits) (_ *sql.DB, all []*sql.Conn, err error) {
	if err := check(name); err != nil {
		return nil, nil, err
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, nil, err
	}
	// With immutable, SQLite uses no locks and no journal, so that it creates no further files.
	u := url.URL{
		Scheme:   "file",
		Path:     path,
		RawQuery: "mode=ro&immutable=1&_pragma=trusted_schema(0)&_pragma=query_only(1)&_pragma=cell_size_check(1)&_pragma=mmap_size(0)",
	}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	defer func() {
		if err != nil {
			_ = db.Close() // only read
		}
	}()
	db.SetMaxOpenConns(connections)
	for range connections {
		conn, err := db.Conn(ctx)
		if err != nil {
			return nil, nil, NameError(name, err)
		}
		all = append(all, conn)
		for limit, most := range map[int]int{
			sqlite3.SQLITE_LIMIT_LENGTH: most.ValueBytes, sqlite3.SQLITE_LIMIT_SQL_LENGTH: 1 << 20,
			sqlite3.SQLITE_LIMIT_COLUMN: most.Columns, sqlite3.SQLITE_LIMIT_ATTACHED: 0,
		} {
			if _, err := sqlite.Limit(conn, limit, most); err != nil {
				return nil, nil, NameError(name, err)
			}
		}
	}
	return db, all, nil
}

// check examines the file without SQLite, because SQLite would silently ignore changes in a
// separate file next to the database.
func check(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil {
		return err
	} else if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: not a regular file; name the file itself", name)
	}
	head := make([]byte, len(Magic))
	if _, err := io.ReadFull(file, head); err != nil || string(head) != Magic {
		return fmt.Errorf("%s: %w", name, ErrNotSQLite)
	}
	for _, suffix := range []string{"-wal", "-journal"} {
		if info, err := os.Stat(name + suffix); err == nil && info.Size() > 0 {
			return fmt.Errorf("%s: there are changes in %s%s that are not in it yet; close the program that has it open, or "+
				"run: sqlite3 %s .tables", name, name, suffix, name)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// IsDamaged reports whether an error of SQLite is about the bytes of the file.
func IsDamaged(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() & 0xFF {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_IOERR:
		return true
	}
	return false
}

// NameError adds the name of the file to an error of SQLite. The error may be nil.
func NameError(name string, err error) error {
	switch {
	case err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case IsDamaged(err):
		return fmt.Errorf("%s: %w; it is damaged or truncated: fetch it again", name, err)
	}
	return fmt.Errorf("%s: %w", name, err)
}
