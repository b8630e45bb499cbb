// Package crs judges coordinate systems for every reader: it decides whether coordinates are
// longitudes and latitudes in degrees that can be used as WGS84. All formats have longitude first,
// whatever the axis order of the system is, except well-known text after an address (an IRI of the
// system).
package crs

import (
	"errors"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"quadrille/cmd/ingest/internal/source"
)

// Kind says how the coordinates of a system can be used here.
type Kind int

const (
	WGS84           Kind = iota // WGS84 itself
	NearWGS84                   // degrees on its ellipsoid or on GRS80 that differ by a few metres at most: NAD83, ETRS89, GDA94
	NeedsConversion             // has to be converted
	Unnamed                     // no system is named, so nothing can convert from it
)

// System is a coordinate system.
type System struct {
	Kind Kind
	Name string // for messages
}

// Error is the refusal of a file whose coordinates must be converted first. Its message says how to
// convert them.
type Error struct {
	System
	File       string   // the subject of the message
	OutputPath string   // a file of the same format
	InputArgs  []string // ogr2ogr's input; empty if it is not a file
}

func (e *Error) Error() string {
	in, save := slices.Clone(e.InputArgs), ""
	if len(in) == 0 {
		in, save = []string{"FILE"}, "save it to a file, then "
	}
	for i, word := range in {
		in[i] = ShellQuoted(word)
	}
	command := e.OutputPath + " " + strings.Join(in, " ")
	if e.Kind == NeedsConversion {
		return fmt.Sprintf("%s: coordinates are in %s; convert them to longitude and latitude (WGS84) first (%sogr2ogr "+
			"-t_srs EPSG:4326 %s)", e.File, e.Name, save, command)
	}
	return fmt.Sprintf("%s: coordinates are in no known system: %s; if they are longitudes and latitudes (WGS84), say so "+
		"first (%sogr2ogr -a_srs EPSG:4326 %s)", e.File, e.Name, save, command)
}

// ShellQuoted returns a word of a command, quoted so that it can be pasted into a shell.
func ShellQuoted(word string) string {
	if strings.ContainsAny(word, " '\"\\$&;|<>()*?#`") {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

// Accept returns a note for the user if coordinates of the system are used as WGS84's, or an
// *Error. file is the subject of messages, and out names a file of the same format. in is the input
// of ogr2ogr. If it is missing or "", the input is the file.
func (s System) Accept(file, out string, in ...string) (note string, err error) {
	if len(in) == 0 || in[0] == "" {
		in = []string{map[string]string{".zip": "/vsizip/", ".gz": "/vsigzip/"}[strings.ToLower(path.Ext(file))] + file}
	}
	switch s.Kind {
	case WGS84:
		return "", nil
	case NearWGS84:
		return fmt.Sprintf("%s: coordinates are in %s and taken as WGS84, from which they differ by a few metres at most", file, s.Name), nil
	}
	return "", &Error{s, file, out, in}
}

// codes are the codes of EPSG whose coordinates are NearWGS84 or WGS84, in order.
var codes = [...]uint16{
	3824, 3889, 4019, 4023, 4030, 4031, 4046, 4075, 4081, 4126, 4130, 4133, 4140, 4148, 4151, 4152, 4163, 4166, 4167, 4170, 4171,
	4172, 4173, 4176,
	4180, 4189, 4190, 4258, 4269, 4283, 4326, 4463, 4470, 4483, 4490, 4558, 4612, 4617, 4619, 4624, 4627, 4640, 4659, 4661, 4667, 4669, 4670,
	4674, 4686, 4687, 4693, 4694, 4702, 4737, 4742, 4747, 4749, 4755, 4757, 4758, 4759, 4761, 4762, 4763, 4764, 4765, 4937, 4979,
	5013, 5246, 5252, 5264,
	5324, 5340, 5354, 5360, 5365, 5371, 5373, 5381, 5393, 5489, 5546, 5593, 5886, 6135, 6318, 6319, 6322, 6325, 6365, 6668, 6706,
	6783, 6980, 6987, 7035,
	7037, 7039, 7041, 7073, 7084, 7086, 7088, 7133, 7136, 7139, 7373, 7686, 7798, 7843, 7844, 7881, 7886, 8086, 8232, 8237, 8240,
	8246, 8249, 8252, 8255,
	8427, 8431, 8449, 8545, 8685, 8699, 8818, 8860, 8888, 8900, 8902, 8907, 8949, 8972, 8973, 8974, 8975, 8976, 8977, 8978, 8979,
	8980, 8981, 8982,
	8983, 8984, 8985, 8986, 8987, 8988, 8989, 8990, 8991, 8992, 8993, 8994, 8995, 8996, 8997, 8998, 8999, 9000, 9003, 9006, 9009,
	9012, 9014, 9017,
	9019, 9053, 9054, 9055, 9056, 9057, 9059, 9060, 9061, 9062, 9063, 9064, 9065, 9066, 9067, 9068, 9069, 9072, 9075, 9140, 9148,
	9153, 9184, 9294,
	9309, 9333, 9380, 9470, 9547, 9696, 9702, 9755, 9777, 9779, 9782, 9784, 9990, 10178, 10284, 10299, 10305, 10307, 10310, 10312,
	10328, 10414, 10475,
	10571, 10606, 10639, 10671, 10673, 10690, 10725, 10739, 10762, 10781, 10785, 10791, 10800, 10807, 10831, 10875, 10892, 10910,
	10941, 10952, 10956,
	10959, 10968, 11043, 20041, 20046,
}

// ByCode returns the system with an EPSG code.
func ByCode(code int64) System {
	s := System{NeedsConversion, "EPSG:" + strconv.FormatInt(code, 10)}
	if code == 4326 || code == 4979 {
		s.Kind = WGS84
	} else if _, ok := slices.BinarySearch(codes[:], uint16(code)); ok && code>>16 == 0 {
		s.Kind = NearWGS84
	}
	return s
}

// epsg finds the code in 4326, EPSG:4326, urn:ogc:def:crs:EPSG::4326 and .../def/crs/EPSG/0/4326.
var epsg = regexp.MustCompile(`(?i)(?:^|EPSG(?:\.XML|\.IO)?[:/#]+(?:[0-9.]*[:/])?)([0-9]{4,9})(?:$|[^0-9])`)

// ByName returns the system with a name, a URN or an address, or the system that a well-known text
// describes.
func ByName(name string) System {
	if strings.ContainsRune(name, '[') {
		return ByWKT(name)
	}
	if m := epsg.FindStringSubmatch(name); m != nil {
		code, _ := strconv.ParseInt(m[1], 10, 64)
		return ByCode(code)
	}
	s := System{Unnamed, source.Excerpt(name)}
	last := letters(name[strings.LastIndexAny(name, ":/#")+1:])
	switch all := strings.TrimSuffix(letters(name), "H"); {
	case strings.HasSuffix(all, "CRS84"), wgs84[strings.TrimPrefix(last, "GCS")]:
		s.Kind = WGS84
	case strings.HasSuffix(all, "CRS83"), near[all]:
		s.Kind = NearWGS84
	case strings.Contains(name, ":"): // a code of an unknown authority
		s.Kind = NeedsConversion
	}
	return s
}

// address matches an address of a coordinate system before well-known text: the OGC's own, and
// Wikidata's, which names a celestial body.
var address = regexp.MustCompile(`(?i)^(?:https?://www\.opengis\.net/def/crs/(OGC|EPSG)/[^/]*/|urn:ogc:def:crs:(OGC|EPSG):[^:]*:|https?://www\.wikidata\.org/entity/(Q))([0-9A-Z]+)$`)

// eastFirst are the codes whose longitudes come first according to EPSG.
var eastFirst = []int64{7035, 7037, 7039, 7041, 7084, 7086, 7088, 7133, 8902, 9779, 9784, 10307, 10312, 10673}

// newCodes is the first of the codes whose axis order is unknown, apart from those in eastFirst.
const newCodes = 10639

// ByAddress returns the system of an address before well-known text, as in GeoSPARQL and Wikidata.
// latFirst reports whether latitudes come first in that system, as EPSG defines it. The OGC's own
// systems have longitude first. So does Wikidata, in which Q2 is the Earth. An unknown address is
// of kind NeedsConversion.
func ByAddress(iri string) (s System, latFirst bool) {
	other := System{NeedsConversion, source.Excerpt(iri)}
	m := address.FindStringSubmatch(iri)
	if m == nil {
		return other, false
	}
	name := m[4]
	switch strings.ToUpper(m[1] + m[2] + m[3]) {
	case "Q":
		if name == "2" {
			return System{WGS84, iri}, false
		}
	case "OGC":
		if s = ByName("OGC:" + name); s.Kind < NeedsConversion {
			return s, false
		}
	case "EPSG":
		code, err := strconv.ParseInt(name, 10, 64)
		east := slices.Contains(eastFirst, code)
		if s = ByCode(code); err == nil && s.Kind < NeedsConversion && (east || code < newCodes) {
			return s, !east
		}
	}
	return other, false
}

// wgs84 has the names of the datum WGS84, reduced to letters and digits.
var wgs84 = map[string]bool{"WGS1984": true, "WGS84": true, "WORLDGEODETICSYSTEM1984": true, "WORLDGEODETICSYSTEM1984ENSEMBLE": true}

// near has the short names of systems that are NearWGS84.
var near = map[string]bool{
	"NAD83":      true,
	"NAD83CSRS":  true,
	"NAD832011":  true,
	"ETRS89":     true,
	"GDA94":      true,
	"GDA2020":    true,
	"SIRGAS2000": true,
	"JGD2011":    true,
	"CGCS2000":   true,
}

// distant are datums that lie 7 to 320 metres from WGS84, although they have one of these
// ellipsoids. The distance follows from EPSG's parameters, which are missing in descriptions of
// systems.
var distant = regexp.MustCompile(`^(?:GREEKGEODETICREFERENCESYSTEM1987|GGRS(?:19)?87|ISRAEL(?:1993)?|KUWAITUTILITY|NATIONALGEODETICNETWORK|NGN|ST87OUVEA|` +
	`VIETNAM2000|CYPRUSGEODETICREFERENCESYSTEM1993|XRAIL84|.*INTERMEDIATE.*|.*NADGRIDS.*|.*TOWGS840*[1-9].*)$`)

var geographic = []string{"GEOGCS", "GEOGCRS", "GEODCRS", "GEOGRAPHICCRS", "GEODETICCRS"}

// ByWKT returns the system that well-known text of either version describes.
func ByWKT(text string) System {
	root, err := parse(text)
	if err != nil {
		return System{Unnamed, err.Error()}
	}
	moved := root.key != "COMPD_CS" && root.key != "COMPOUNDCRS" && root.moved() // a shift of heights does not matter
	for slices.Contains([]string{"COMPD_CS", "COMPOUNDCRS", "BOUNDCRS"}, root.key) {
		// The horizontal system is the first one inside the compound.
		g := root.find(append([]string{"BOUNDCRS", "PROJCS", "PROJCRS"}, geographic...)...)
		if g == nil {
			break
		}
		root, moved = g, moved || g.moved()
	}
	s := System{NeedsConversion, source.Excerpt(root.name())}
	datum, ellipsoid := root.find("DATUM", "GEODETICDATUM", "ENSEMBLE", "TRF"), root.find("SPHEROID", "ELLIPSOID")
	if !slices.Contains(geographic, root.key) || datum == nil || ellipsoid == nil {
		if slices.Contains([]string{"LOCAL_CS", "ENGCRS", "ENGINEERINGCRS"}, root.key) {
			s.Kind = Unnamed
		}
		return s
	}
	name := letters(strings.TrimPrefix(strings.ToUpper(datum.name()), "D_"))
	if moved || distant.MatchString(name) ||
		!(math.Abs(ellipsoid.number(1)-6378137) < 0.01 && math.Abs(ellipsoid.number(2)-298.2572) < 0.0005) {
		s.Name += ", on a datum of its own"
		return s
	}
	if m := root.find("PRIMEM", "PRIMEMERIDIAN"); m != nil && m.number(1) != 0 {
		s.Name += ", counted from the meridian of " + source.Excerpt(m.name())
		return s
	}
	// The angular unit is a direct child; a datum's ellipsoid has units of length.
	for _, u := range root.children {
		if (u.key == "UNIT" || u.key == "ANGLEUNIT") && !(math.Abs(u.number(1)-math.Pi/180) <= 1e-9) {
			s.Name += ", in " + source.Excerpt(u.name())
			return s
		}
	}
	if s.Kind = NearWGS84; wgs84[name] {
		s.Kind = WGS84
	}
	return s
}

// letters returns the letters and digits of a name in capitals.
func letters(s string) string { return punctuation.ReplaceAllString(strings.ToUpper(s), "") }

var punctuation = regexp.MustCompile(`[^A-Z0-9]+`)

// node is KEY["text", 1.5, CHILD[...]] of well-known text.
type node struct {
	key      string
	values   []string // quoted texts and numbers
	children []*node
}

func (n *node) name() string {
	if len(n.values) == 0 {
		return n.key
	}
	return n.values[0]
}

// number returns the i-th value after the name, from 1, or NaN if it is not a number.
func (n *node) number(i int) float64 {
	if len(n.values) > i {
		if f, ok := source.ParseDecimal(n.values[i], math.MaxFloat64); ok {
			return f
		}
	}
	return math.NaN()
}

// find returns the first node below that has one of the keys.
func (n *node) find(keys ...string) *node {
	for _, c := range n.children {
		if slices.Contains(keys, c.key) {
			return c
		}
		if f := c.find(keys...); f != nil {
			return f
		}
	}
	return nil
}

// moved reports whether a description has a shift between its datum and WGS84, or a rotated globe.
func (n *node) moved() bool {
	switch n.key {
	case "TOWGS84":
		return slices.ContainsFunc(n.values, func(v string) bool { return strings.Trim(v, "+-0.") != "" })
	case "PARAMETER": // a scale of 1 is no change
		return n.number(1) != 0 && n.number(1) != 1
	case "PARAMETERFILE", "DERIVINGCONVERSION":
		return true
	}
	return n.name() == "PROJ4_GRIDS" || slices.ContainsFunc(n.children, (*node).moved)
}

var errWKT = errors.New("its description is not well-known text")

var token = regexp.MustCompile(`"[^"]*"?|[][(),]|[^][(),"\s]+`)

// parse reads the nodes of a text. After the first there may be a system of heights, which is
// ignored.
func parse(text string) (*node, error) {
	const deepest = 32
	open := []*node{{}}
	for _, t := range token.FindAllString(strings.TrimRight(text, "\x00"), -1) { // as some programs end texts
		in := open[len(open)-1]
		switch last := len(in.children) - 1; {
		case t == ",":
		case t == "[" || t == "(":
			if last < 0 {
				return nil, errWKT
			}
			if open = append(open, in.children[last]); len(open) > deepest {
				return nil, fmt.Errorf("%w: nested more than %d deep", errWKT, deepest)
			}
		case t == "]" || t == ")":
			if open = open[:len(open)-1]; len(open) == 0 {
				return nil, errWKT
			}
		case t[0] == '"', strings.IndexByte("+-.0123456789", t[0]) >= 0:
			in.values = append(in.values, strings.Trim(t, `"`))
		default:
			in.children = append(in.children, &node{key: strings.ToUpper(t)})
		}
	}
	systems := open[0].children
	switch {
	case len(open) > 1:
		return nil, fmt.Errorf("%w: cut off", errWKT)
	case len(systems) == 0 || len(systems[0].values)+len(systems[0].children) == 0:
		return nil, errWKT
	case slices.ContainsFunc(systems[1:], func(n *node) bool { return !strings.HasPrefix(n.key, "VERT") }):
		return nil, fmt.Errorf("%w: more after its end", errWKT)
	}
	return systems[0], nil
}
