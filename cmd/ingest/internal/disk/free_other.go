//go:build !(darwin || linux)

package disk

// Free returns nothing on systems that it does not know.
func Free(string) (uint64, bool) { return 0, false }
