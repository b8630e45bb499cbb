package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"quadrille/cellstore/filelock"
	"quadrille/cmd/tileserver/internal/quota"
)

// newKeyCommand is the command "tileserver keys new".
type newKeyCommand struct {
	Name  string  `arg:"" help:"Name of the client, for logs and /usage: letters, digits, dots, hyphens and underscores."`
	Limit []limit `placeholder:"N/WINDOW" help:"Requests it may make, such as 600/1m or 100000/1d; repeatable. Without any, those of --key-limit."`
	Scope []scope `env:"-" placeholder:"RIGHT:COLLECTION" help:"Collection of points that it may read or write, such as write:shops, or read:* for all; repeatable. Who may write may read."`
}

type scope quota.Scope

func (s *scope) UnmarshalText(text []byte) error {
	v, err := quota.ParseScope(string(text))
	*s = scope(v)
	return err
}

// run adds the key to file and prints it. It writes notes for a person to stderr.
func (c *newKeyCommand) run(ctx context.Context, file string, stdout, stderr io.Writer) error {
	if file == "" {
		return &usageError{errors.New("keys new needs the file to add the key to: name it by --keys FILE; it is made if it is not there")}
	}
	if err := quota.CheckName(c.Name); err != nil {
		return &usageError{err}
	}
	if _, err := sumLimits("--limit", c.Limit); err != nil {
		return &usageError{err}
	}
	key := quota.NewKey()
	if err := c.addKey(ctx, file, key, stderr); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(stdout, key); err != nil {
		return fmt.Errorf("a key of %s is in %s now and could not be printed, so nobody has it: remove its line and make another: %w", c.Name, file, err)
	}
	return nil
}

// line returns the line for the key in its file.
func (c *newKeyCommand) line(key string) string {
	limits, scopes := make([]quota.Limit, len(c.Limit)), make([]quota.Scope, len(c.Scope))
	for i, l := range c.Limit {
		limits[i] = quota.Limit(l)
	}
	for i, s := range c.Scope {
		scopes[i] = quota.Scope(s)
	}
	return quota.FormatLine(c.Name, quota.HashOf(key), limits, scopes...) + "\n"
}

// addKey appends a key to a file and returns once it is on the disk. Only the owner may read a new
// file, because names and limits are confidential. Programs that add keys at the same time wait for
// each other. Servers read without waiting, see quota.ErrUnfinished. Notes are for a person.
func (c *newKeyCommand) addKey(ctx context.Context, file, key string, notes io.Writer) (err error) {
	f, err := lockKeys(ctx, file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	old, err := io.ReadAll(io.LimitReader(f, quota.MaxFile+1))
	if err != nil {
		return err
	}
	whole, added := old, c.line(key)
	switch keys, err := quota.ReadKeys(bytes.NewReader(old)); {
	case errors.Is(err, quota.ErrUnfinished) && keys.Len() > 0:
		// A program that was killed has left this text before it printed the key. The text stays in
		// the file so that people can see it; it has no effect.
		whole = old[:bytes.LastIndexByte(old, '\n')+1]
		added = "# unfinished: " + string(old[len(whole):]) + "\n" + added
		fmt.Fprintf(notes, "%s ended within a line, which is a comment now: the key it was to be has never been printed\n", file)
	case err != nil:
		return fmt.Errorf("%s is not a file of keys: %w", file, err)
	case len(old) > 0 && old[len(old)-1] != '\n':
		added = "\n" + added
	}
	if len(whole)+len(added) > quota.MaxFile {
		return fmt.Errorf("%s would be over %d bytes, which no server reads: remove keys that are not used any more", file, quota.MaxFile)
	}
	if len(whole) < len(old) {
		err = f.Truncate(int64(len(whole)))
	}
	if err == nil {
		_, err = f.WriteString(added)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil && len(old) == 0 { // perhaps it is new
		if file, err = realPath(file); err == nil {
			err = syncDir(filepath.Dir(file))
		}
	}
	if err != nil {
		// An incomplete line must be removed. If this fails too, the next program that adds a key
		// finds the line.
		return fmt.Errorf("no key was added: %w", errors.Join(err, f.Truncate(int64(len(whole)))))
	}
	return nil
}

// lockPatience bounds how long the program waits for others that add keys.
const lockPatience = 30 * time.Second

// lockKeys opens a file of keys, and makes it if it is missing. It locks the file for one program
// at a time.
func lockKeys(ctx context.Context, file string) (*os.File, error) {
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	for {
		f, err := os.OpenFile(file, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			return nil, fmt.Errorf("no key was added, name a file that can be read and written: %w", err)
		}
		locked, err := lockNow(f, file)
		if locked {
			return f, nil
		}
		err = errors.Join(err, f.Close())
		if err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s is %w: wait for that to end, or stop it, and try again", file, filelock.ErrLocked)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// lockNow locks the open file, unless another program has locked or replaced it.
func lockNow(f *os.File, file string) (bool, error) {
	opened, err := f.Stat()
	if err != nil {
		return false, err
	}
	if !opened.Mode().IsRegular() {
		return false, fmt.Errorf("%s is not a regular file: name one for the keys", file)
	}
	err = filelock.LockExclusive(f)
	if errors.Is(err, filelock.ErrLocked) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s cannot be locked, so that keys made at once could be lost: make them on a file system "+
			"that has locks and copy the file: %w", file, err)
	}
	return filelock.NamesFile(f, file)
}

// syncDir makes the entries of a directory durable, if the system supports this.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
