package ogc

import (
	"math"
	"strconv"
	"strings"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/feature"
	"quadrille/quadkey"
)

// crs is a coordinate reference system of answers.
type crs struct {
	uri string
	// project converts degrees to coordinates in the order of the system's axes, and degrees
	// converts them back. digits is the number of digits after the decimal point.
	project func(lon, lat float64) (a, b float64)
	degrees func(a, b float64) (lon, lat float64)
	digits  int
	axes    [2]string
}

func same(a, b float64) (c, d float64)    { return a, b }
func swapped(a, b float64) (c, d float64) { return b, a }

const epsg4326 = "http://www.opengis.net/def/crs/EPSG/0/4326"

var poles = map[string]float64{"∞": math.Inf(1), "-∞": math.Inf(-1), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1)}

// systems lists the coordinate systems. The first is the system of the store, and the default.
var systems = []*crs{
	{uri: "http://www.opengis.net/def/crs/OGC/1.3/CRS84", project: same, degrees: same, digits: -1, axes: [2]string{"lon", "lat"}},
	{uri: epsg4326, project: swapped, degrees: swapped, digits: -1, axes: [2]string{"lat", "lon"}},
	// Its unit is the metre, and answers are rounded to the centimetre.
	{uri: "http://www.opengis.net/def/crs/EPSG/0/3857", project: toMercator, degrees: fromMercator, digits: 2, axes: [2]string{"x", "y"}},
}

var (
	crs84     = systems[0]
	systemIDs = func() (all []string) {
		for _, s := range systems {
			all = append(all, s.uri)
		}
		return all
	}()
)

// earthRadius is the radius of the sphere of EPSG:3857, in metres.
const earthRadius = 6378137

// toMercator computes the projection EPSG:3857. Latitudes beyond the square of web maps, up to the
// poles, are moved to its edge.
func toMercator(lon, lat float64) (x, y float64) {
	lat = min(max(lat, -quadkey.MaxLatitude), quadkey.MaxLatitude) * math.Pi / 180
	return earthRadius * lon * math.Pi / 180, earthRadius * math.Asinh(math.Tan(lat))
}

// fromMercator rounds to 1e-7 degrees, the precision of points: a client's metres are rounded, and
// its box must not exclude features on its edge.
func fromMercator(x, y float64) (lon, lat float64) {
	degrees := func(radians float64) float64 { return math.Round(radians*180/math.Pi*1e7) / 1e7 }
	return degrees(x / earthRadius), degrees(math.Atan(math.Sinh(y / earthRadius)))
}

// systemParam declares a parameter that names a system. If it is absent, the system is the
// default.
func systemParam(name, doc string, uris []string) *endpoint.Value[*crs] {
	return endpoint.New(name, doc, endpoint.Schema{"type": "string", "format": "uri", "enum": uris},
		system).WithDefault(crs84).WithBound("default", crs84.uri)
}

// system reads a parameter that names a system.
func system(q *endpoint.Params, name string) *crs {
	text := q.Text(name, 200)
	for _, s := range systems {
		// Clients also send the short form, and https instead of http.
		if strings.TrimPrefix(strings.TrimPrefix(text, "https://"), "http://") == s.uri[len("http://"):] ||
			text == "["+shortName(s)+"]" || text == shortName(s) {
			return s
		}
	}
	q.Refuse(name, "Set "+name+" to one of: "+strings.Join(systemIDs, ", ")+".")
	return crs84
}

// shortName returns the short name of a system, such as EPSG:3857.
func shortName(s *crs) string {
	parts := strings.Split(s.uri, "/")
	return parts[len(parts)-3] + ":" + parts[len(parts)-1]
}

// bbox reads the box of the parameter bbox in the system of bbox-crs: four numbers, or six
// with heights, which are ignored. It returns false if there is no box.
func bbox(q *endpoint.Params) (box quadkey.Box, ok bool) {
	of := bboxCRSParam.Of(q)
	if !q.Has("bbox") {
		return quadkey.World, false
	}
	const want = "Set bbox to four numbers, the lower corner and the upper one, in the order of the axes of bbox-crs: " +
		"west,south,east,north in degrees if it is left out. West may be greater than east, across 180."
	number := func(s string) (float64, bool) {
		// In EPSG:3857 the poles are at infinity, and clients send them as such.
		if infinite, pole := poles[s]; pole && of.digits >= 0 {
			return infinite, true
		}
		return quadkey.ParseNumber(s)
	}
	var n [6]float64
	text := q.Text("bbox", 320)
	switch {
	case quadkey.ParseNumbers(text, n[:4], number):
	case !quadkey.ParseNumbers(text, n[:], number):
		q.Refuse("bbox", want)
		return box, false
	case n[2] > n[5]:
		q.Refuse("bbox", "Set the lower height of bbox to one that is not above the upper.")
		return box, false
	default:
		n[2], n[3] = n[3], n[4]
	}
	if of.uri == epsg4326 && max(math.Abs(n[0]), math.Abs(n[2])) > 90 {
		of = crs84 // no latitudes: as many clients do, it puts longitudes first
	}
	box.West, box.South = of.degrees(n[0], n[1])
	box.East, box.North = of.degrees(n[2], n[3])
	if of.digits >= 0 { // metres beyond the edges of the square are still on the Earth
		box.West, box.East = max(box.West, -180), min(box.East, 180)
	}
	if box.Check() != nil {
		q.Refuse("bbox", want)
		return box, false
	}
	return box, true
}

// appendPosition writes a position.
func (s *crs) appendPosition(dst []byte, p quadkey.Position) []byte {
	a, b := s.project(p.Lon, p.Lat)
	dst = strconv.AppendFloat(append(dst, '['), a, 'f', s.digits, 64)
	dst = strconv.AppendFloat(append(dst, ','), b, 'f', s.digits, 64)
	return append(dst, ']')
}

// writer writes features in the system of the request, with the requested properties. Bounds are in
// degrees, so only the default system has them.
func (s *shown) writer() *feature.Writer {
	w := &feature.Writer{GeoJSON: true, NestProperties: true, WithBounds: s.crs == crs84,
		Fields: s.properties, SkipGeometry: s.skipGeometry}
	if s.crs != crs84 {
		w.Position = s.appendPosition
	}
	return w
}
