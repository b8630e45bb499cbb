package feature

import (
	"context"

	"quadrille/quadkey"
)

// Drawing says how maps show a Tiler whose features have numbers and whose tiles have no clusters. It is not to be
// changed.
type Drawing struct {
	// Description is that of its layer of vector tiles.
	Description string
	// Attributes are the properties that vector tiles have, in their order, beside the number as id. A Drawer may
	// have some that features lack.
	Attributes Schema
	// Look is how styles draw it; a look that they do not know is that of a layer without a Drawing.
	Look Look
	// HasNames says that the layer is a Namer.
	HasNames bool
	// Importance ranks features of a tile, greater for what is more important. With it a tile for maps that draw
	// tiles twice as large has all that the four tiles in it have. It may be nil.
	Importance func(*Feature) uint64
}

// Look names a way to draw a layer.
type Look string

// The looks. Settlements have the attributes code and population, and Airfields have rank.
const (
	LookSettlements Look = "settlements"
	LookAirfields   Look = "airfields"
)

// Drawer is a Tiler that makes the attributes of vector tiles itself.
type Drawer interface {
	Tiler
	// Draw writes the features of Tile, in the same order, with the Attributes of the Drawing. The first error of
	// the pen ends it, and is returned.
	Draw(ctx context.Context, t quadkey.Tile, pen Pen) error
}

// Pen writes features one after the other: their beginning, attributes and end.
type Pen interface {
	Begin(number uint64, at quadkey.Position) error
	Text(name, value string) // "" writes nothing
	Integer(name string, value int64)
	Boolean(name string, value bool)
	End()
}

// Namer is a Layer whose features have names in languages.
type Namer interface {
	Layer
	// NameIn returns the name of the feature of a number in a language, and whether there is one.
	NameIn(ctx context.Context, number uint32, lang string) (name string, ok bool, err error)
}
