//go:build !unix

package main

// peakMemory returns 0, because there is no common way to read it on this system.
func peakMemory() int64 { return 0 }
