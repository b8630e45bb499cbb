//go:build !(darwin || linux)

package fetch

// freeBytes knows nothing where systems are not asked.
func freeBytes(string) (uint64, bool) { return 0, false }
