//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package filelock

import (
	"errors"
	"fmt"
	"os"
)

// Try refuses, since there are no file locks that end with their process.
func Try(*os.File) error { return fmt.Errorf("file locks: %w", errors.ErrUnsupported) }
