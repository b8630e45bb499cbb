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

// unfinished begins the name of a copy that is not a backup yet.
const unfinished = ".unfinished-"

// backup copies the live collections of a store into a directory that does not exist yet,
// each as it is at one moment, and reads the copy to its end. The directory is there
// once that is done, whole, and not before.
func backup(ctx context.Context, store cellstore.Store, to string, report io.Writer) (err error) {
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("%s is there already: name a directory that is not", to)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(to)
	copied := filepath.Join(parent, unfinished+filepath.Base(to))
	if err := os.RemoveAll(copied); err != nil { // what an earlier one left
		return err
	}
	if err := store.Checkpoint(ctx, copied); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(copied))
		}
	}()
	if err := verifyBackup(ctx, copied, report); err != nil {
		return err
	}
	if err := os.Rename(copied, to); err != nil {
		return err
	}
	return syncDirectory(parent)
}

func verifyBackup(ctx context.Context, dir string, report io.Writer) (err error) {
	store, err := pebblestore.Open(dir, &pebblestore.Options{ReadOnly: true, CacheBytes: 8 << 20})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	damaged, err := verifyLive(ctx, store, report)
	if err == nil && len(damaged) > 0 {
		err = fmt.Errorf("%w: the copy of %s is not whole: see by tileserver live verify whether the collection is", cellstore.ErrCorrupt, strings.Join(damaged, ", "))
	}
	return err
}

// backupPath is where the admin listener is asked for a backup.
const backupPath = "/live/backup"

// backupHandler answers POST /live/backup: {"to":"NAME"} makes a backup of that name in a
// directory that the operator has allowed. It is for the admin listener alone.
func backupHandler(store cellstore.Store, dir string) http.Handler {
	var one sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			To string `json:"to"`
		}
		// A page of another site cannot send this type unasked.
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
		if err := in.Decode(&asked); err != nil || asked.To == "" || asked.To != filepath.Base(asked.To) || strings.HasPrefix(asked.To, ".") {
			http.Error(w, `Send {"to":"NAME"}: a name without slashes that does not begin with a dot.`, http.StatusBadRequest)
			return
		}
		if !one.TryLock() {
			http.Error(w, "A backup is being made: try again when it is there.", http.StatusConflict)
			return
		}
		defer one.Unlock()
		var report bytes.Buffer
		if err := backup(r.Context(), store, filepath.Join(dir, asked.To), &report); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = io.Copy(w, &report) // the client is gone if this fails
	})
}

type backupCommand struct {
	Dir string `arg:"" help:"The directory of --live."`
	To  string `arg:"" help:"A directory that is not there yet. While a server runs, one directly in its --backup-dir."`
}

// run makes the backup, or has the server that has the directory open make it.
func (c *backupCommand) run(ctx context.Context, admin string, stdout io.Writer) (err error) {
	to, err := filepath.Abs(c.To)
	if err != nil {
		return err
	}
	if err := checkRepaired(c.Dir); err != nil {
		return err
	}
	store, err := openStopped(c.Dir)
	switch {
	case errors.Is(err, cellstore.ErrLocked):
		if err := askBackup(ctx, admin, filepath.Base(to), stdout); err != nil {
			return err
		}
		if _, err := os.Stat(to); err != nil {
			return fmt.Errorf("the server has made the backup %s in its --backup-dir, which is not %s: look for it there", filepath.Base(to), filepath.Dir(to))
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

func askBackup(ctx context.Context, admin, name string, stdout io.Writer) error {
	if admin == "" {
		return &usageError{errors.New("a server has the directory open: name its admin listener by --admin-listen ADDR, such as 127.0.0.1:6060")}
	}
	body, err := json.Marshal(map[string]string{"to": name})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+admin+backupPath, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("the server cannot be asked at --admin-listen %s: %w", admin, err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the server made no backup: %s", strings.TrimSpace(string(answer)))
	}
	_, err = stdout.Write(answer)
	return err
}
