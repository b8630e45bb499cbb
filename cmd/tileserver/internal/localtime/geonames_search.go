package localtime

// Height is a place's elevation in metres; those without one come last.
func (d *PlaceDoc) Height() int64 {
	switch {
	case d.Elevation != nil:
		return *d.Elevation
	case d.DEM != nil:
		return *d.DEM
	}
	return UnknownDEM
}
