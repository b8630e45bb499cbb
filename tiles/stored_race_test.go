//go:build race

package tiles

func init() { lookupShare, buildShare = 20, 5 }
