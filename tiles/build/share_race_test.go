//go:build race

package build

func init() { buildShare = 5 }
