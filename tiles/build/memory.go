package build

import (
	"fmt"

	"quadrille/tiles/internal/grid"
)

// A build takes about baseMemory, and bytesPerVertex for each vertex of its arrangement. The
// arrangement has a vertex wherever a border crosses a tile. In measurements, the coasts of all
// countries took 1.6 GB of live memory for 8.3 million vertices, and 140,000 municipalities took
// 1.1 GB for 8.8 million. The rest of bytesPerVertex is for garbage.
const (
	baseMemory     = 128 << 20
	bytesPerVertex = 256
)

// mostVertices returns the greatest number of vertices that an arrangement may have. It is 0 if
// memory is not bounded.
func (o *Options) mostVertices() int64 {
	if o.Memory <= 0 {
		return 0
	}
	return max(1, (o.Memory-baseMemory)/bytesPerVertex)
}

// MemoryFor returns the approximate memory of a build, in bytes, for layers with the given number
// of vertices in all. Edges that cross very many tiles take more.
func MemoryFor(vertices int64) int64 { return baseMemory + bytesPerVertex*vertices }

// If many regions overlap, a line may be a border of very many of them. A build takes bytesPerShare
// for each border of a line beyond usualShares.
const (
	usualShares   = 8
	bytesPerShare = 64
)

// checkShared refuses an arrangement whose shared lines make its regions need too much memory.
func (o *Options) checkShared(lines []grid.Line, reg *grid.ShareSets) error {
	vertices := int64(len(lines))
	need := MemoryFor(vertices)
	sets := reg.All()
	for _, l := range lines {
		n := int64(0)
		for _, s := range sets[l.ShareSet] {
			n += int64(max(s.Times, -s.Times))
		}
		if n > usualShares {
			vertices += n - 1
			need += bytesPerShare * (n - usualShares)
		}
	}
	if o.Memory > 0 && need > o.Memory {
		return &MemoryError{Vertices: vertices, NeedBytes: need}
	}
	return nil
}

// MemoryError is the error for layers that need more memory than Options.Memory.
type MemoryError struct {
	// Vertices counts the vertices of all layers. If these alone need too much memory, the build
	// stops there. Otherwise Vertices also counts those that borders get where they cross tile
	// lines, and one more for each further region of a line that very many regions share.
	Vertices int64
	// NeedBytes is the approximate memory of the build in bytes.
	NeedBytes int64
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("these layers have %d vertices and need about %.1f GiB: allow as much memory, or build fewer or simpler layers at once",
		e.Vertices, float64(e.NeedBytes)/(1<<30))
}

// These are the units of progress.
const (
	unitVertices = "vertices"
	unitLevels   = "levels"
)
