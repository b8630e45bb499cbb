// Package filelock keeps programs apart that change the same file.
//
// A lock belongs to the open file. The kernel drops it when that is closed, so
// also when the process dies.
package filelock

import "errors"

// ErrLocked means that another open file, of this process or another, holds
// the lock.
var ErrLocked = errors.New("locked by another program")
