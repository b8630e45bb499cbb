package geoxml_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkt"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/geoxml"
)

// read returns a line for each feature: its line, id, geometry and properties, or what is wrong.
func read(text string, want source.Want) (lines []string, notes []string, failure error) {
	r, features := geoxml.Read(strings.NewReader(text), "f", want)
	for f, err := range features {
		switch {
		case errors.As(err, new(*source.BadRecord)):
			lines = append(lines, err.Error())
			continue
		case err != nil:
			return lines, r.Notes(), err
		}
		line := fmt.Sprintf("%d %s", f.Line, f.ID)
		if f.Geometry != nil {
			line += " " + wkt.MarshalString(f.Geometry)
		}
		for _, m := range f.Members {
			line += fmt.Sprintf(" %s=%s", m.Name, m.Value)
		}
		if f.Lost.Count > 0 {
			line += fmt.Sprintf(" lost %d, %s", f.Lost.Count, f.Lost.First)
		}
		lines = append(lines, line)
	}
	return lines, r.Notes(), nil
}

func TestRead(t *testing.T) {
	const ring = "<LinearRing><coordinates> 0,0 1,0,5\n1,1 0,0</coordinates></LinearRing>"
	for name, tc := range map[string]struct {
		text  string
		want  source.Want
		lines []string
		notes []string
	}{
		"placemarks": {text: `<?xml version="1.0"?><kml xmlns="http://www.opengis.net/kml/2.2"><Document><name>all</name><Folder>
<Placemark id="a"><name> A &amp; B&nbsp;</name><description><![CDATA[<b>x</b>]]></description><TimeStamp><when>2024-01-02</when></TimeStamp>
<Style><IconStyle><scale>2</scale></IconStyle></Style><Point><altitudeMode>clampToGround</altitudeMode><coordinates>8.5,47.25,400</coordinates></Point></Placemark>
<Placemark><ExtendedData><Data name="n"><displayName>N</displayName><value>1</value></Data><SchemaData><SimpleData name="n">2</SimpleData>
<SimpleData name="m"></SimpleData></SchemaData></ExtendedData><LineString><coordinates>0,0 1,1</coordinates></LineString></Placemark>
<Placemark id="p"><Polygon><outerBoundaryIs>` + ring + `</outerBoundaryIs><innerBoundaryIs>` + ring + `</innerBoundaryIs></Polygon></Placemark>
<NetworkLink/><NetworkLink/></Folder></Document></kml>`, lines: []string{
			"2 a POINT(8.5 47.25) name=\"A \\u0026 B\" description=\"\\u003cb\\u003ex\\u003c/b\\u003e\" when=\"2024-01-02\"",
			`4  LINESTRING(0 0,1 1) n="1; 2"`,
			"6 p POLYGON((0 0,1 0,1 1,0 0),(0 0,1 0,1 1,0 0))",
		}, notes: []string{"f: 2 links to other files are not followed"}},
		"several shapes": {text: `<kml><Placemark><MultiGeometry><Point><coordinates>1,2</coordinates></Point><MultiGeometry><Point><coordinates>3,4</coordinates></Point>
</MultiGeometry></MultiGeometry></Placemark><Placemark><MultiGeometry>` + "<Polygon><outerBoundaryIs>" + ring + "</outerBoundaryIs></Polygon>" + ring +
			`</MultiGeometry></Placemark></kml>`, lines: []string{"1  MULTIPOINT((1 2),(3 4))", "2  MULTIPOLYGON(((0 0,1 0,1 1,0 0)),((0 0,1 0,1 1,0 0)))"}},
		"lines among points": {want: source.WantPoints, text: `<kml><Placemark><LineString><coordinates>1,2 3,4</coordinates></LineString></Placemark><Placemark>` +
			ring + `</Placemark><Placemark><Point><coordinates>1,2</coordinates></Point></Placemark></kml>`, lines: []string{"2  POINT(1 2)"},
			notes: []string{"f: 2 lines, areas and mixtures are left out of a collection of points; ingest boundaries makes a layer of them"}},
		"bad placemarks": {text: `<kml><Placemark><name>none</name></Placemark><Placemark><Point><coordinates>1;2</coordinates></Point></Placemark>
<Placemark><Point><coordinates/></Point></Placemark><Placemark><Polygon/></Placemark><Placemark><Point><coordinates>1,2 3,4</coordinates></Point></Placemark></kml>`,
			lines: []string{`1  name="none"`, `f:1: coordinate is not a number: "1;2"`, "f:2: no geometry: empty",
				"f:2: no geometry: a polygon without one outer ring", "f:2: geometry is not a point: MultiPoint of 2 positions"}},
		"waypoints": {want: source.WantPoints, text: `<gpx><metadata><name>x</name></metadata><wpt lat="47.25" lon="8.5"><ele>400.5</ele><name>Well</name><link href="u"><text>t</text></link>
<extensions><a:x xmlns:a="a"><a:depth>3</a:depth></a:x></extensions></wpt><wpt lat="north" lon="8"/><trk/><rte/></gpx>`,
			lines: []string{`1  POINT(8.5 47.25) ele="400.5" name="Well" link="u" depth="3"`, `f:2: coordinate is not a number: "north 8"`},
			notes: []string{"f: 1 tracks are lines, and left out of a collection of points; ingest boundaries makes a layer of them",
				"f: 1 routes are lines, and left out of a collection of points; ingest boundaries makes a layer of them"}},
		"tracks": {want: source.WantPolygons, text: `<gpx><wpt lat="1" lon="2"/><trk><name>Ride</name><trkseg><trkpt lat="0" lon="1"><ele>3</ele></trkpt><trkpt lat="2" lon="3"/></trkseg>
<trkseg><trkpt lat="4" lon="5"/></trkseg><trkseg><trkpt lat="6" lon="7"/><trkpt lat="8" lon="9"/></trkseg></trk><rte><rtept lat="0" lon="0"/><rtept lat="1" lon="1"/></rte><trk/></gpx>`,
			lines: []string{`1  MULTILINESTRING((1 0,3 2),(7 6,9 8)) name="Ride"`, "2  MULTILINESTRING((0 0,1 1))", "f:2: no geometry: fewer than two positions"},
			notes: []string{"f: 1 waypoints are points, and left out of a layer of lines", "f: 1 parts of tracks with one position are left out"}},
	} {
		lines, notes, err := read(tc.text, tc.want)
		if d := cmp.Diff(tc.lines, lines) + cmp.Diff(tc.notes, notes); d != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, d)
		}
	}
}

// TestBounds tests that hostile documents end, with a word about why.
func TestBounds(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"depth":      {"<kml>" + strings.Repeat("<Folder>", 1e5), "more than 100 others"},
		"cut short":  {"<kml><Placemark><Point><coordinates>1,2", "cut short"},
		"crossed":    {"<kml><Placemark></kml></Placemark>", "f:1: XML syntax error"},
		"entity":     {`<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><kml><Placemark><name>&b;</name></Placemark></kml>`, "invalid character entity"},
		"long text":  {"<kml><Placemark><name>" + strings.Repeat("x", 65<<20), "longer than 64 MiB"},
		"long tag":   {"<kml><" + strings.Repeat("x", 65<<20), "longer than 64 MiB"},
		"attributes": {"<kml><a" + strings.Repeat(" a='b'", 2<<20), "too many attributes"},
		"properties": {"<kml><Placemark><ExtendedData>" + strings.Repeat("<Data name='a'><value>1</value></Data>", 2000) +
			"</ExtendedData><Point><coordinates>1,2</coordinates></Point></Placemark></kml>", ""},
	} {
		_, _, err := read(tc.text, source.WantPoints)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`<kml><Placemark id="a"><name>A</name><Polygon><outerBoundaryIs><LinearRing><coordinates>0,0 1,0 1,1 0,0</coordinates></LinearRing></outerBoundaryIs></Polygon></Placemark></kml>`)
	f.Add(`<gpx><wpt lat="1" lon="2"><name>x</name></wpt><trk><trkseg><trkpt lat="0" lon="1"/><trkpt lat="2" lon="3"/></trkseg></trk></gpx>`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, want := range []source.Want{source.WantPoints, source.WantPolygons} {
			_, features := geoxml.Read(strings.NewReader(text), "f", want)
			for feature, err := range features {
				if _, isPoint := feature.Geometry.(orb.Point); err != nil && isPoint {
					t.Errorf("%v beside %v", feature, err)
				}
			}
		}
	})
}
