package build

import "fmt"

// A build takes about baseMemory and, for each vertex of its layers,
// bytesPerVertex: measured as the least memory with which the borders of whole
// continents are built without the garbage collector taking most of the time.
const (
	baseMemory     = 128 << 20
	bytesPerVertex = 320
)

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
