//go:build race

package tiles

func init() { lookupShare = 20 }
