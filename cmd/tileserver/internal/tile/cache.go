package tile

import (
	"quadrille/cmd/tileserver/internal/web"
)

// tileKey identifies one finished response. It contains everything that the bytes depend on, so an
// entry can never be wrong, only unused: a new generation has a new identity, so the old entries
// are no longer requested.
type tileKey struct {
	layers string   // canonical
	from   web.Hash // of the layers and their generations
	tile   uint64   // packed with its zoom
	form   web.Format
	theme  uint8 // of a picture
	coding web.Coding
	lang   string // of names beside the local ones
	fields string // of features, see chosenFields
	filter string // of features, in canonical form
	color  string // of a picture, see coloring.query
}

func (k tileKey) Hash() uint64 {
	return k.tile ^ uint64(k.from) ^ uint64(k.form)<<8 ^ uint64(k.coding)<<24 ^ uint64(k.theme)<<32
}

func (k tileKey) ExtraBytes() int {
	return len(k.layers) + len(k.lang) + len(k.fields) + len(k.filter) + len(k.color)
}

// tag returns the ETag of the response.
func (k *tileKey) tag() web.Tag {
	from := k.from
	if k.filter != "" {
		from = from.Bytes(k.filter)
	}
	if k.color != "" {
		from = from.Bytes("color").Bytes(k.color)
	}
	return from.Number(k.tile).Number(k.form.Tag()).Number(uint64(k.theme)<<8 | uint64(k.coding)).Tag()
}
