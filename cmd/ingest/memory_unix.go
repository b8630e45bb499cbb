//go:build unix

package main

import (
	"runtime"
	"syscall"
)

// peakMemory returns the peak of the program's resident memory in bytes, or 0 if the system does
// not report it.
func peakMemory() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	peak := int64(u.Maxrss) //nolint:unconvert // it has 32 bits on some systems
	if runtime.GOOS != "darwin" && runtime.GOOS != "ios" {
		peak <<= 10 // other systems count in KiB
	}
	return peak
}
