package quadkey

// Position is a point on the Earth in degrees WGS84.
type Position struct{ Lat, Lon float64 }

// Check calls CheckCoordinate with the position.
func (p Position) Check() error { return CheckCoordinate(p.Lon, p.Lat) }

// Valid reports whether Check returns nil.
func (p Position) Valid() bool { return p.Lon >= -180 && p.Lon <= 180 && p.Lat >= -90 && p.Lat <= 90 }

// Distance returns the distance to another position in metres.
func (p Position) Distance(o Position) float64 { return Distance(p.Lon, p.Lat, o.Lon, o.Lat) }
