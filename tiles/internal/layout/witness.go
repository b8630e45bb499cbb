package layout

import (
	"encoding/binary"
	"fmt"
	"math"
)

// witnessDegrees is the number of steps in a degree of a witness's coordinates.
const witnessDegrees = 1e7

// Witness is a point, and whether it lies in a region according to the source.
// Its coordinates are in steps.
type Witness struct {
	lon, lat int32
	Inside   bool
}

// WitnessAt returns the witness nearest to a place in degrees.
func WitnessAt(lon, lat float64) Witness {
	return Witness{lon: int32(math.Round(lon * witnessDegrees)), lat: int32(math.Round(lat * witnessDegrees))}
}

// Degrees returns the coordinates of the witness.
func (w Witness) Degrees() (lon, lat float64) {
	return float64(w.lon) / witnessDegrees, float64(w.lat) / witnessDegrees
}

// AppendTo appends eight bytes: the longitude, then the latitude, whose last bit says whether the
// point lies in the region.
func (w Witness) AppendTo(dst []byte) []byte {
	lat := w.lat << 1
	if w.Inside {
		lat |= 1
	}
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(dst, uint32(w.lon)), uint32(lat))
}

// ParseWitnesses reads the witnesses of a region's record.
func ParseWitnesses(b []byte) ([]Witness, error) {
	if len(b)%8 != 0 {
		return nil, fmt.Errorf("source points of %d bytes", len(b))
	}
	out := make([]Witness, 0, len(b)/8)
	for ; len(b) > 0; b = b[8:] {
		lat := int32(binary.BigEndian.Uint32(b[4:]))
		out = append(out, Witness{int32(binary.BigEndian.Uint32(b)), lat >> 1, lat&1 != 0})
	}
	return out, nil
}
