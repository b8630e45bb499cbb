//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package dataset

import (
	"errors"
	"fmt"
	"os"
)

// lockFile refuses: without file locks two builds could not be kept apart.
// Reading needs none and works.
func lockFile(*os.File, bool) error {
	return fmt.Errorf("file locks: %w", errors.ErrUnsupported)
}
