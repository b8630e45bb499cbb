package main

import (
	"os"
	"slices"
	"strings"
)

// notes names the file of the lines that CI prints at its end; "" means no file.
type notes string

func (n notes) add(lines ...string) error {
	if n == "" || len(lines) == 0 {
		return nil
	}
	f, err := os.OpenFile(string(n), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.Join(lines, "\n") + "\n")
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// takeBack removes the last of the lines that read so.
func (n notes) takeBack(line string) error {
	if n == "" {
		return nil
	}
	b, err := os.ReadFile(string(n))
	if err != nil {
		return err
	}
	lines := strings.SplitAfter(string(b), "\n")
	for i, l := range slices.Backward(lines) {
		if l == line+"\n" {
			lines = slices.Delete(lines, i, i+1)
			break
		}
	}
	return os.WriteFile(string(n), []byte(strings.Join(lines, "")), 0o644)
}
