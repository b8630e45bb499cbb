package quadkey

import "errors"

// Test for these errors with errors.Is. The returned errors wrap one of them
// and say what to change.
var (
	// ErrTile: a zoom, column or row outside the grid, or a malformed quadkey.
	ErrTile = errors.New("no such tile")
	// ErrKey means that bytes are not the key of a tile or cell.
	ErrKey = errors.New("malformed key")
	// ErrCoordinate: a longitude or latitude that is out of range or no number.
	ErrCoordinate = errors.New("coordinate out of range")
	// ErrBox: text that is not a box, or a box with impossible edges.
	ErrBox = errors.New("not a valid box")
	// ErrRadius means that a radius is negative, infinite or NaN.
	ErrRadius = errors.New("radius out of range")
	// ErrTooFewRanges means that a cover is limited to less than one range.
	ErrTooFewRanges = errors.New("too few ranges")
)
