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
	// Attributes are the properties that vector tiles have, in their order, besides the number,
	// which is the id. A Drawer may have attributes that are not properties of features.
	Attributes Schema
	// Look is the way in which styles draw the layer. A layer with a look that the styles do not
	// know is drawn like one without a Drawing.
	Look Look
	// HasNames says that the layer is a Namer.
	HasNames bool
	// Importance ranks the features of a tile. It is greater for a more important feature. If it is
	// set, a tile for maps that draw tiles at twice the size has all features of its four children.
	// It may be nil.
	Importance func(*Feature) uint64
}

// Look is the name of a way to draw a layer.
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
	Draw(ctx context.Context, t quadkey.Tile, f Filter, pen Pen) error
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
	// NameIn returns the name, in a language, of the feature with a number, and whether there is
	// one.
	NameIn(ctx context.Context, number uint32, lang string) (name string, ok bool, err error)
}
