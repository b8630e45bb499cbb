package main

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"quadrille/cellstore/filelock"
)

// notes names the file of the lines that CI prints at its end; "" means no file. Several
// programs may write to it at once.
type notes string

func (n notes) add(lines ...string) error {
	if len(lines) == 0 {
		return nil
	}
	return n.change(func(list []string) []string { return append(list, lines...) })
}

// takeBack removes the last of the lines that read so.
func (n notes) takeBack(line string) error {
	return n.change(func(list []string) []string {
		for i, l := range slices.Backward(list) {
			if l == line {
				return slices.Delete(list, i, i+1)
			}
		}
		return list
	})
}

// change reads the lines and writes what edit makes of them, while no other program does.
func (n notes) change(edit func([]string) []string) (err error) {
	if n == "" {
		return nil
	}
	f, err := os.OpenFile(string(n), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for {
		if err = filelock.Exclusive(f); !errors.Is(err, filelock.ErrLocked) {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	old, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, line := range edit(strings.Split(strings.TrimSuffix(string(old), "\n"), "\n")) {
		if line != "" {
			text.WriteString(line + "\n")
		}
	}
	// The end is cut off last, so that whoever reads meanwhile meets no empty file.
	if _, err := f.WriteAt([]byte(text.String()), 0); err != nil {
		return err
	}
	return f.Truncate(int64(text.Len()))
}
