//go:build race

package tiles_test

func init() { lookupShare = 20 }
