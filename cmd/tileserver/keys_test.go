package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"quadrille/cellstore/filelock"
	"quadrille/cmd/internal/testfile"
	"quadrille/cmd/tileserver/internal/quota"
	"quadrille/internal/testrace"
)

// keysNew runs the command "keys new" in a separate process.
func keysNew(t *testing.T, name, file string, more ...string) *exec.Cmd {
	t.Helper()
	return rerun(t, append([]string{"keys", "new", name, "--keys", file}, more...)...)
}

// rerun returns a command that runs the program in a separate process.
func rerun(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, args...)
	cmd.Env = append(os.Environ(), "TILESERVER_TEST_RUN=1")
	return cmd
}

// foundKeys checks that a file has n keys, and that every printed key is among them.
func foundKeys(t *testing.T, file string, n int, printed []string) {
	t.Helper()
	keys, err := (&guardConfig{Keys: file}).readKeys()
	if err != nil {
		t.Fatal(err)
	}
	if keys.Len() != n {
		t.Errorf("%d keys are in the file, want %d", keys.Len(), n)
	}
	for _, key := range printed {
		if keys.Find(key) == nil {
			t.Errorf("key %s was printed and is not in the file", key)
		}
	}
	slices.Sort(printed)
	if len(slices.Compact(printed)) != n {
		t.Errorf("%d different keys were printed, want %d", len(printed), n)
	}
}

// Programs that add keys concurrently lose none of them. There are 12 programs, or 100 with
// QUADRILLE_FULL=1.
func TestKeysAtOnce(t *testing.T) {
	n := 12
	if os.Getenv("QUADRILLE_FULL") != "" {
		n = 100
	}
	file := filepath.Join(t.TempDir(), "keys")
	out := make([]bytes.Buffer, n)
	cmds := make([]*exec.Cmd, n)
	for i := range cmds {
		cmds[i] = keysNew(t, fmt.Sprintf("client-%d", i), file)
		cmds[i].Stdout, cmds[i].Stderr = &out[i], os.Stderr
		if err := cmds[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	var printed []string
	for i := range cmds {
		if err := cmds[i].Wait(); err != nil {
			t.Error(err)
		}
		printed = append(printed, strings.TrimSpace(out[i].String()))
	}
	foundKeys(t, file, n, printed)
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", st, err)
	}
}

// replaceKeys replaces a file by a copy while it has the lock.
func replaceKeys(t *testing.T, file string) {
	t.Helper()
	f, err := lockKeys(t.Context(), file)
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err == nil {
		err = os.WriteFile(file+".new", text, 0o600)
	}
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	if err != nil {
		t.Error(err)
	}
}

// No key is lost if the program with the lock replaces the file of keys while others wait. A server
// that reads continuously finds either a valid file or an unfinished one.
func TestKeysWhileReplaced(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "keys")
	var mu sync.Mutex
	var printed []string
	var wg sync.WaitGroup
	add := func(name string) {
		var out bytes.Buffer
		if err := run(t.Context(), []string{"keys", "new", name, "--keys", file}, &out, io.Discard); err != nil {
			t.Error(err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		printed = append(printed, strings.TrimSpace(out.String()))
	}
	add("first")
	for i := range 100 {
		wg.Go(func() { add(fmt.Sprintf("client-%d", i)) })
		if i%10 == 0 {
			wg.Go(func() { replaceKeys(t, file) })
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		wg.Wait()
	}()
	for reading := true; reading; {
		select {
		case <-done:
			reading = false
		default:
		}
		if _, err := (&guardConfig{Keys: file}).readKeys(); err != nil && !errors.Is(err, quota.ErrUnfinished) {
			t.Error(err)
		}
	}
	foundKeys(t, file, 101, printed)
}

// addTo adds a key and returns it, with the notes for a person.
func addTo(t *testing.T, file string) (key, notes string, err error) {
	t.Helper()
	var out, log bytes.Buffer
	err = run(t.Context(), []string{"keys", "new", "acme", "--keys", file}, &out, &log)
	return strings.TrimSpace(out.String()), log.String(), err
}

// A killed program leaves at most one incomplete line. This line is not a key and does not
// invalidate other keys: a server starts with the other keys and reports this, a running server
// keeps its keys, and the next key gets a new line.
func TestKeysHalfLine(t *testing.T) {
	testrace.SkipUnderRace(t, "one server is started and asked, again and again")
	dir := t.TempDir()
	file := filepath.Join(dir, "keys")
	publish(t, dir)
	key, _, err := addTo(t, file)
	if err != nil {
		t.Fatal(err)
	}
	before := testfile.Read(t, file)
	line := quota.FormatLine("torn", quota.HashOf("nobody has it"), []quota.Limit{
		{Requests: 600, Window: quota.Minute},
		{Requests: 1000, Window: quota.Day},
	})
	tails := []string{"\x00\x00\x00\x00", line[:len("torn")], line[:len("torn:")] + "\x00\x00"}
	for n := 1; n <= len(line); n++ {
		tails = append(tails, line[:n])
	}
	for _, tail := range tails {
		torn := append(bytes.Clone(before), tail...)
		testfile.Write(t, file, torn)
		next, notes, err := addTo(t, file)
		if err != nil {
			t.Fatalf("after %q: %v", tail, err)
		}
		keys, err := (&guardConfig{Keys: file}).readKeys()
		if err != nil {
			t.Fatalf("after %q: %v", tail, err)
		}
		if keys.Find(key) == nil || keys.Find(next) == nil {
			t.Errorf("after %q a key is lost", tail)
		}
		text := testfile.Read(t, file)
		if !bytes.HasPrefix(text, before) || !bytes.Contains(text, []byte(tail)) {
			t.Errorf("after %q the file is\n%s", tail, text)
		}
		if commented := bytes.Contains(text, []byte("# unfinished: "+tail+"\n")); commented != strings.Contains(notes, "comment") ||
			!commented && keys.Len() != 3 {
			t.Errorf("after %q nobody is told that it is none: %d keys, %s", tail, keys.Len(), notes)
		}
	}
	testfile.Write(t, file, append(bytes.Clone(before), line[:40]...))
	url, log, stop := start(t, "--data="+dir, "--keys="+file)
	answers(t, url+"/regions/at?lat=48&lon=4&key="+key, 200)
	stop()
	if !log.has("the last key is not used") || strings.Contains(log.String(), line[:40]) {
		t.Errorf("the server says of the half line: %s", log.String())
	}
	// If the file has no complete key, it may be any file.
	testfile.Write(t, file, "machine example.org")
	if _, _, err := addTo(t, file); err == nil || !strings.Contains(err.Error(), "not a file of keys") {
		t.Errorf("a file of something else: %v", err)
	}
	if err := run(t.Context(), []string{"--data=" + dir, "--keys=" + file, "--listen=127.0.0.1:0"}, io.Discard, io.Discard); err == nil {
		t.Error("a server started without any key")
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "machine example.org" {
		t.Errorf("the file of something else is now %q, %v", text, err)
	}
}

// A running server that reads an incomplete line keeps its current keys.
func TestKeysReloadHalfLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	one, _, err := addTo(t, file)
	if err != nil {
		t.Fatal(err)
	}
	two, _, err := addTo(t, file)
	if err != nil {
		t.Fatal(err)
	}
	var log syncBuffer
	c := &guardConfig{Keys: file}
	g, stop, err := c.guard(t.Context(), slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	text := testfile.Read(t, file)
	testfile.Write(t, file, text[:len(text)-9])
	c.again()
	if keys := g.Keys(); keys.Find(one) == nil || keys.Find(two) == nil {
		t.Error("a file that is being written takes keys away")
	}
	if !strings.Contains(log.String(), "those before stay in use") {
		t.Errorf("the log: %s", log.String())
	}
	three, _, err := addTo(t, file)
	if err != nil {
		t.Fatal(err)
	}
	c.again()
	if keys := g.Keys(); keys.Find(one) == nil || keys.Find(two) != nil || keys.Find(three) == nil {
		t.Error("the mended file is not in use")
	}
}

// A file that is locked for a long time gives an error and is not changed.
func TestKeysLocked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := filelock.LockExclusive(f); err != nil {
		t.Skipf("no file locks here: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = (&newKeyCommand{Name: "acme"}).addKey(ctx, file, "key", io.Discard)
	if !errors.Is(err, filelock.ErrLocked) || !strings.Contains(err.Error(), file) {
		t.Errorf("a locked file: %v", err)
	}
	if st, err := os.Stat(file); err != nil || st.Size() != 0 {
		t.Errorf("a locked file was written: %v, %v", st, err)
	}
}

// Only regular files are accepted, and others are refused before they are read: a device may be
// endless, and a lock does not protect it.
func TestKeysNoFile(t *testing.T) {
	names := []string{t.TempDir()}
	for _, device := range []string{"/dev/full", "/dev/null", "/dev/zero"} {
		if _, err := os.Stat(device); err == nil {
			names = append(names, device)
		}
	}
	for _, name := range names {
		if key, _, err := addTo(t, name); err == nil || key != "" {
			t.Errorf("%s took a key: %v", name, err)
		}
	}
}

// A symbolic link is not replaced, and its target keeps its mode.
func TestKeysSymlink(t *testing.T) {
	file, link := filepath.Join(t.TempDir(), "keys"), filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(file, link); err != nil {
		t.Skipf("no symlinks here: %v", err)
	}
	var printed []string
	for _, name := range []string{link, file, link} {
		key, _, err := addTo(t, name)
		if err != nil {
			t.Fatal(err)
		}
		printed = append(printed, key)
		if err := os.Chmod(file, 0o640); err != nil {
			t.Fatal(err)
		}
	}
	foundKeys(t, file, 3, printed)
	if st, err := os.Lstat(link); err != nil || st.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link: %v, %v", st, err)
	}
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o640 {
		t.Errorf("the file: %v, %v", st, err)
	}
}

// If the disk has space for only half a line, simulated by a limit of the process, nothing is added
// and no key is printed.
func TestKeysFullDisk(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh to set a limit with")
	}
	cut := 0
	for _, filled := range []int{500, 1000} { // shells count in blocks of 512 bytes or of 1024
		file := filepath.Join(t.TempDir(), "keys")
		if _, _, err := addTo(t, file); err != nil {
			t.Fatal(err)
		}
		before := testfile.Read(t, file)
		before = append(before, "#"+strings.Repeat("x", filled-len(before)-2)+"\n"...)
		testfile.Write(t, file, before)
		cmd := keysNew(t, "acme", file)
		cmd.Args = append([]string{sh, "-c", `ulimit -f 1 && exec "$0" "$@"`}, cmd.Args...)
		cmd.Path = sh
		var out, log bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &log
		err = cmd.Run()
		after, rerr := os.ReadFile(file)
		if rerr != nil {
			t.Fatal(rerr)
		}
		if err == nil { // within the limit
			continue
		}
		cut++
		if !bytes.Equal(after, before) || out.Len() > 0 || !strings.Contains(log.String(), "no key was added") {
			t.Errorf("printed %q and %q, and left\n%s", out.String(), log.String(), after)
		}
	}
	if cut == 0 {
		t.Error("the limit kept nobody")
	}
}

// noPaper is an output that returns an error for every write.
type noPaper struct{}

func (noPaper) Write([]byte) (int, error) { return 0, errors.New("out of paper") }

// A key that could not be printed is reported, because it is in the file but nobody knows it.
func TestKeysNotPrinted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	err := run(t.Context(), []string{"keys", "new", "acme", "--keys", file}, noPaper{}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "remove its line") {
		t.Errorf("not printed: %v", err)
	}
}
