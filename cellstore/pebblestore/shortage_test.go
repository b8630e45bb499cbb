package pebblestore

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"

	"quadrille/cellstore"
)

// What the system is short of for a moment is never damage, whatever the engine says beside it.
func TestShortageIsNoDamage(t *testing.T) {
	for _, errno := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EAGAIN} {
		for _, err := range []error{
			&os.PathError{Op: "open", Path: "x", Err: errno}, fmt.Errorf("%w: %w", cellstore.ErrCorrupt, errno), errors.Join(io.ErrUnexpectedEOF, errno),
		} {
			for name, of := range map[string]func(error) error{"classify": classify, "damage": damage} {
				got := of(of(err))
				if !errors.Is(got, cellstore.ErrShortage) || errors.Is(got, cellstore.ErrCorrupt) {
					t.Errorf("%s of %v is %v", name, err, got)
				}
			}
		}
	}
	if err := damage(syscall.ENOENT); !errors.Is(err, cellstore.ErrCorrupt) {
		t.Errorf("a file that is missing: %v", err)
	}
}
