package cells

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Seal computes the checksums of stored blocks. They depend on the build, the region type and the
// row, so a row that is damaged, of another build or at the wrong place is never taken for an
// answer.
type Seal struct{ sum uint32 }

// NewSeal returns the Seal of a type in a build with a stamp.
func NewSeal(stamp uint32, typ string) Seal {
	return Seal{crc32.Update(stamp, castagnoli, []byte(typ))}
}

func (s Seal) of(value, key []byte) uint32 {
	return crc32.Update(crc32.Update(s.sum, castagnoli, key), castagnoli, value)
}

// Append appends the checksum of a value to it.
func (s Seal) Append(value, key []byte) []byte {
	return binary.BigEndian.AppendUint32(value, s.of(value, key))
}

var errSeal = errors.New("the checksum of finished answers is wrong: the row is damaged or of another build")

// Open returns a value without its checksum, or an error if that is wrong.
func (s Seal) Open(value, key []byte) ([]byte, error) {
	n := len(value) - 4
	if n < 0 || binary.BigEndian.Uint32(value[n:]) != s.of(value[:n], key) {
		return nil, errSeal
	}
	return value[:n], nil
}
