//go:build race

package quadkey

func init() { slowdown = 10 }
