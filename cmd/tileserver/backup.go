package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
)

// unfinished is the prefix of the name of a copy that is not a backup yet. removing is the prefix
// of the name of a backup that is being removed.
const (
	unfinished = ".unfinished-"
	removing   = ".unfinished." // no copy has it
)

// realPath is a path from the root without symbolic links.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// placeOf returns the path of a backup without symbolic links. Its parent must exist. It refuses a
// path inside a store, because the next start would take the backup for a part of the store.
func placeOf(to string) (string, error) {
	to, err := filepath.Abs(to)
	if err != nil {
		return "", err
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(to))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s is not there: make it, or mount it, first: %w", filepath.Dir(to), err)
	}
	if err != nil {
		return "", err
	}
	for at := parent; ; at = filepath.Dir(at) {
		_, noLock := os.Lstat(filepath.Join(at, "LOCK"))
		if _, err := os.Lstat(filepath.Join(at, "tables")); err == nil && noLock == nil {
			return "", fmt.Errorf("%s is a store, or a backup of one: name a directory that is not inside it", at)
		}
		if at == filepath.Dir(at) {
			return filepath.Join(parent, filepath.Base(to)), nil
		}
	}
}

// checkBackupDir refuses a --backup-dir that is not suitable for backups.
func checkBackupDir(dir string) error {
	if dir == "" {
		return nil
	}
	if _, err := placeOf(filepath.Join(dir, "backup")); err != nil {
		return fmt.Errorf("--backup-dir: %w", err)
	}
	return nil
}

// checkFree returns an error if the path of a backup already exists.
func checkFree(to string) error {
	_, err := os.Lstat(to)
	switch {
	case err == nil:
		return fmt.Errorf("%w: %s is there already: name a directory that is not", fs.ErrExist, to)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}

// removeUnfinished removes a copy that did not become a backup. It first moves the copy
// away, so that a process which may still be writing it cannot give a part of it the
// name of a backup.
func removeUnfinished(copied string) error {
	parent, name := filepath.Split(copied)
	if strings.HasPrefix(name, unfinished) {
		away := filepath.Join(parent, removing+strings.TrimPrefix(name, unfinished))
		err := os.RemoveAll(away)
		if err == nil {
			err = os.Rename(copied, away)
		}
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		copied = away
	}
	return os.RemoveAll(copied)
}

// removeAllUnfinished removes unfinished copies from a directory that has only backups.
func removeAllUnfinished(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if name := e.Name(); e.IsDir() && (strings.HasPrefix(name, unfinished) || strings.HasPrefix(name, removing)) {
			err = errors.Join(err, removeUnfinished(filepath.Join(dir, name)))
		}
	}
	return err
}

// backup copies the live collections of a store into a directory that does not exist yet. The copy
// of a collection is its state at one moment. backup reads each copy completely to verify it. Only
// then does the directory appear under its name. Errors match fs.ErrExist if the directory exists,
// and cellstore.ErrNoSpace.
func backup(ctx context.Context, store cellstore.Store, to string, report io.Writer) (err error) {
	if to, err = placeOf(to); err != nil {
		return err
	}
	if err := checkFree(to); err != nil {
		return err
	}
	parent := filepath.Dir(to)
	copied := filepath.Join(parent, unfinished+filepath.Base(to))
	if err := removeUnfinished(copied); err != nil { // an earlier backup's leftovers
		return err
	}
	switch err := store.Checkpoint(ctx, copied); {
	case errors.Is(err, cellstore.ErrCorrupt):
		return fmt.Errorf("stop the server and see by tileserver live verify which collection is damaged: %w", err)
	case cellstore.IsNoSpace(err):
		return fmt.Errorf("make room at %s and try again: %w", parent, err)
	case err != nil:
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, removeUnfinished(copied))
		}
	}()
	if err := verifyBackup(ctx, copied, report); err != nil {
		return err
	}
	if err := os.Rename(copied, to); err != nil {
		return err
	}
	return syncDir(parent)
}

func verifyBackup(ctx context.Context, dir string, report io.Writer) (err error) {
	store, err := pebblestore.Open(dir, &pebblestore.Options{ReadOnly: true, CacheBytes: 8 << 20})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	damaged, err := verifyLive(ctx, store, report)
	if err == nil && len(damaged) > 0 {
		err = fmt.Errorf("%w: the copy of %s is not whole: stop the server and see by tileserver live verify whether the collection is", cellstore.ErrCorrupt, strings.Join(damaged, ", "))
	}
	return err
}

// backupPath is the path of the admin listener for requests for a backup.
const backupPath = "/live/backup"

// madeBackup is the answer to a request for a backup.
type madeBackup struct {
	Made   string `json:"made"` // its path on the machine of the server, without symbolic links
	Live   string `json:"live"` // the directory of --live
	Report string `json:"report"`
}

// backupStatus returns the status for an error of backup.
func backupStatus(err error) int {
	switch {
	case errors.Is(err, fs.ErrExist):
		return http.StatusConflict
	case cellstore.IsNoSpace(err):
		return http.StatusInsufficientStorage
	}
	return http.StatusInternalServerError
}

// isBackupName reports whether a backup may have a name in the allowed directory.
func isBackupName(name string) bool {
	return name != "" && name[0] != '.' && len(name) <= 200 && !strings.ContainsAny(name, "/\\\x00")
}

// backupHandler answers POST /live/backup: {"to":"NAME"} makes a backup of that name in a directory
// that the operator has allowed. Only the admin listener has it.
func backupHandler(store cellstore.Store, live, dir string) http.Handler {
	var one sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			To string `json:"to"`
		}
		// A page of another site cannot send this type without a preflight request.
		kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		switch {
		case store == nil:
			http.Error(w, "There are no live collections: start the server with --live.", http.StatusNotFound)
			return
		case dir == "":
			http.Error(w, "No directory is allowed for backups: start the server with --backup-dir DIR.", http.StatusForbidden)
			return
		case err != nil || kind != "application/json":
			http.Error(w, "Send the Content-Type application/json.", http.StatusUnsupportedMediaType)
			return
		}
		in := json.NewDecoder(http.MaxBytesReader(w, r.Body, 4096))
		if err := in.Decode(&asked); err != nil || !isBackupName(asked.To) {
			http.Error(w, `Send {"to":"NAME"}: a name of at most 200 bytes without slashes and backslashes that does not begin with a dot.`, http.StatusBadRequest)
			return
		}
		if !one.TryLock() {
			http.Error(w, "A backup is being made: try again when it is there.", http.StatusConflict)
			return
		}
		defer one.Unlock()
		var report bytes.Buffer
		to, err := placeOf(filepath.Join(dir, asked.To))
		of, lerr := realPath(live)
		if err = errors.Join(err, lerr); err == nil {
			err = removeAllUnfinished(filepath.Dir(to))
		}
		if err == nil {
			err = backup(r.Context(), store, to, &report)
		}
		if err != nil {
			http.Error(w, err.Error(), backupStatus(err))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(madeBackup{Made: to, Live: of, Report: report.String()}) // the client is gone if this fails
	})
}

type backupCommand struct {
	Dir string `arg:"" help:"The directory of --live."`
	To  string `arg:"" help:"A directory that is not there yet. While a server runs, one directly in its --backup-dir."`
}

// run makes the backup. If a server has the directory open, the server makes it.
func (c *backupCommand) run(ctx context.Context, admin string, stdout io.Writer) (err error) {
	to, err := placeOf(c.To)
	if err != nil {
		return err
	}
	if err := checkRepaired(c.Dir); err != nil {
		return err
	}
	if err := checkFree(to); err != nil {
		return err
	}
	store, err := openStopped(c.Dir)
	switch {
	case errors.Is(err, cellstore.ErrLocked):
		live, err := realPath(c.Dir)
		if err != nil {
			return err
		}
		made, err := askBackup(ctx, admin, filepath.Base(to), stdout)
		if err != nil {
			return err
		}
		if _, err := os.Lstat(to); err != nil || made.Made != to || made.Live != live {
			return fmt.Errorf("the server at %s has made the backup %s of %s, which is not %s of %s: ask the server of that, "+
				"and name a directory in its --backup-dir", admin, made.Made, made.Live, to, live)
		}
	case err != nil:
		return err
	default:
		err = backup(ctx, store, to, stdout)
		if err = errors.Join(err, store.Close()); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(stdout, "The backup is %s. Start a server on a copy of it to restore it.\n", to)
	return err
}

// adminClient sends requests to our own server, which is not behind a proxy.
var adminClient = &http.Client{Transport: &http.Transport{}}

// askBackup requests a backup from a server, and returns the server's answer.
func askBackup(ctx context.Context, admin, name string, stdout io.Writer) (made madeBackup, err error) {
	if admin == "" {
		return made, &usageError{errors.New("a server has the directory open: name its admin listener by --admin-listen " +
			"ADDR, such as 127.0.0.1:6060")}
	}
	body, err := json.Marshal(map[string]string{"to": name})
	if err != nil {
		return made, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+admin+backupPath, bytes.NewReader(body))
	if err != nil {
		return made, err
	}
	r.Header.Set("Content-Type", "application/json")
	res, err := adminClient.Do(r)
	if err != nil {
		return made, fmt.Errorf("the server cannot be asked at --admin-listen %s: %w", admin, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return made, err
	}
	if res.StatusCode != http.StatusOK {
		return made, fmt.Errorf("the server made no backup: %s", strings.TrimSpace(string(text)))
	}
	if err := json.Unmarshal(text, &made); err != nil {
		return made, fmt.Errorf("what answers at --admin-listen %s is no server of this version: %w", admin, err)
	}
	_, err = io.WriteString(stdout, made.Report)
	return made, err
}
