package build

import "fmt"

// A build takes about baseMemory and bytesPerVertex for each vertex of its
// arrangement, which has a vertex wherever a border crosses a tile. Measured on
// the coasts of all countries, 8.3 million vertices lived in 1.6 GB, and on
// 140,000 municipalities 8.8 million in 1.1 GB. The rest is for garbage.
const (
	baseMemory     = 128 << 20
	bytesPerVertex = 256
)

// mostVertices returns how many vertices an arrangement may have, 0 if memory
// is not bounded.
func (o *Options) mostVertices() int64 {
	if o.Memory <= 0 {
		return 0
	}
	return max(1, (o.Memory-baseMemory)/bytesPerVertex)
}

// MemoryFor returns about how many bytes of memory a build of layers with so
// many vertices takes. Edges that cross very many tiles take more.
func MemoryFor(vertices int64) int64 { return baseMemory + bytesPerVertex*vertices }

// MemoryError refuses layers that need more memory than Options.Memory.
type MemoryError struct {
	// Vertices of all layers, with those where their borders cross tiles if
	// these are too many.
	Vertices int64
	// Need is about how many bytes the build takes.
	Need int64
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("these layers have %d vertices and need about %.1f GiB: allow as much memory, or build fewer or simpler layers at once",
		e.Vertices, float64(e.Need)/(1<<30))
}

// The units of progress.
const (
	unitVertices = "vertices"
	unitLevels   = "levels"
)
