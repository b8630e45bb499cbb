//go:build !unix

package main

// peakMemory is 0: this system does not tell it in a common way.
func peakMemory() int64 { return 0 }
