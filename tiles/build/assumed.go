package build

import (
	"fmt"
	"strings"
)

// assumed counts what was assumed of a region's source.
type assumed struct {
	crossing, straight int     // long edges, by how they were read
	poles              [2]bool // south, north: the border was drawn on to it
	ends               [2]float64
	empty              int // rings that enclose nothing
}

// String is "" where nothing was.
func (s *assumed) String() string {
	var parts []string
	edges := func(n int, what string) {
		switch {
		case n == 1:
			parts = append(parts, "an edge wider than 180° was taken "+what)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d edges wider than 180° were taken %s", n, what))
		}
	}
	edges(s.crossing, "to cross ±180°")
	edges(s.straight, "to be straight")
	for i, name := range [2]string{"south", "north"} {
		if s.poles[i] {
			parts = append(parts, fmt.Sprintf("its end along latitude %v was taken for the %s pole", s.ends[i], name))
		}
	}
	return strings.Join(parts, ", ")
}
