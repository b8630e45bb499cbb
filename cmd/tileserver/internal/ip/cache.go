package ip

import (
	"encoding/binary"
	"math/bits"

	"quadrille/cmd/tileserver/internal/web"
)

// addressKey identifies the answer for an IP address.
type addressKey struct {
	addr       [16]byte
	generation uint64
	coding     web.Coding
}

func (k addressKey) Spread() uint64 {
	return binary.LittleEndian.Uint64(k.addr[:8]) ^ bits.ReverseBytes64(binary.LittleEndian.Uint64(k.addr[8:])) ^ uint64(k.coding)
}

func (k addressKey) Extra() int { return 0 }
