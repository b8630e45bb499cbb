package tile

import (
	"quadrille/cmd/tileserver/internal/web"
)

// tileKey identifies one finished response. Everything the bytes depend on is
// in it, so an entry can never be wrong, only unused: a new generation has a
// new identity and simply stops asking for the old entries.
type tileKey struct {
	layers     string // canonical
	boundaries uint64 // identity of the generation; 0 when it plays no part
	places     uint64
	airports   uint64
	points     uint64 // of the collections
	tile       uint64 // packed with its zoom
	form       web.Form
	theme      uint8 // of a picture
	coding     web.Coding
}

func (k tileKey) Spread() uint64 {
	return k.tile ^ k.boundaries ^ k.points ^ uint64(k.form)<<8 ^ uint64(k.coding)<<16 ^ uint64(k.theme)<<24
}

func (k tileKey) Extra() int { return len(k.layers) }
