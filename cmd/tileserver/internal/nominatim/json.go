package nominatim

import (
	"math"
	"strconv"

	"quadrille/ask/geocoder"
	"quadrille/internal/jsontext"
)

// attribution names the sources of results. A server may have other sources; the
// attributions of its data sets name them.
const attribution = "Data of this server's sources: GeoNames (CC BY 4.0), OurAirports and its boundary layers"

const unable = `{"error":"Unable to geocode"}`

// appendAnswer writes the results in the requested format.
func (q *request) appendAnswer(dst []byte) []byte {
	w := writer{dst}
	switch {
	case q.body != nil:
		return append(dst, q.body...)
	case q.format == formatXML:
		return q.appendXML(dst)
	case q.question.simple && len(q.found) == 0:
		return append(dst, unable...)
	case q.format == formatGeoJSON, q.format == formatGeocodeJSON:
		w.features(q)
	case q.question.simple:
		w.plain(q, &q.found[0])
	default:
		w.b = append(w.b, '[')
		for i := range q.found {
			w.b = jsontext.Next(w.b)
			w.plain(q, &q.found[i])
		}
		w.b = append(w.b, ']')
	}
	return w.b
}

// writer writes JSON and sets the commas.
type writer struct{ b []byte }

func (w *writer) open()  { w.b = append(w.b, '{') }
func (w *writer) close() { w.b = append(w.b, '}') }

func (w *writer) name(name string) {
	w.b = append(jsontext.AppendString(jsontext.Next(w.b), name), ':')
}

func (w *writer) text(name, value string) {
	w.name(name)
	w.b = jsontext.AppendString(w.b, value)
}

func (w *writer) int(name string, value int64) {
	w.name(name)
	w.b = strconv.AppendInt(w.b, value, 10)
}

// float writes a number with at most seven decimals.
func (w *writer) float(v float64) {
	w.b = strconv.AppendFloat(w.b, math.Round(v*1e7)/1e7+0, 'f', -1, 64)
}

// tags writes an object of tags.
func (w *writer) tags(list []tag) {
	w.open()
	for _, t := range list {
		w.text(t.key, t.value)
	}
	w.close()
}

// optional writes an object of tags, or null.
func (w *writer) optional(name string, list []tag) {
	w.name(name)
	if list == nil {
		w.b = append(w.b, "null"...)
		return
	}
	w.tags(list)
}

// degrees writes a coordinate as Nominatim does in strings.
func degrees(v float64) string { return strconv.FormatFloat(v+0, 'f', 7, 64) }

// object writes which object an entry is.
func (w *writer) object(e *entry) {
	w.text("osm_type", objects[e.object])
	w.int("osm_id", int64(e.id))
}

// plain writes an entry of json or jsonv2.
func (w *writer) plain(q *request, e *entry) {
	w.open()
	w.int("place_id", int64(e.id))
	w.text("licence", attribution)
	w.object(e)
	w.text("lat", degrees(e.Lat))
	w.text("lon", degrees(e.Lon))
	class := "category"
	if q.format == formatJSON {
		class = "class"
	}
	w.text(class, e.class)
	w.text("type", e.typ)
	w.described(q, e)
	w.name("boundingbox")
	w.b = append(w.b, '[')
	for _, v := range e.bounds {
		w.b = jsontext.Next(w.b)
		w.b = jsontext.AppendString(w.b, degrees(v))
	}
	w.b = append(w.b, ']')
	if q.outlines {
		w.name("geojson")
		w.b = e.appendGeometry(w.b)
	}
	w.close()
}

// described writes the members that json, jsonv2 and geojson have in common.
func (w *writer) described(q *request, e *entry) {
	w.int("place_rank", int64(e.searchRank))
	if q.format == formatGeoJSON {
		w.text("category", e.class)
		w.text("type", e.typ)
	}
	w.name("importance")
	w.float(e.importance)
	w.text("addresstype", e.addressType)
	w.text("name", e.Name)
	w.text("display_name", e.display)
	if q.address {
		w.name("address")
		w.tags(e.address())
	}
	if q.extra {
		w.optional("extratags", e.extra())
	}
	if q.names {
		w.optional("namedetails", e.names)
	}
}

// appendGeometry appends the outline, or else the position, as a geometry.
func (e *entry) appendGeometry(dst []byte) []byte {
	if e.outline != nil {
		return append(dst, e.outline...)
	}
	w := writer{append(dst, `{"type":"Point","coordinates":[`...)}
	w.float(e.Lon)
	w.b = append(w.b, ',')
	w.float(e.Lat)
	return append(w.b, "]}"...)
}

// features writes a collection of features of geojson or geocodejson.
func (w *writer) features(q *request) {
	w.b = append(w.b, `{"type":"FeatureCollection",`...)
	if q.format == formatGeoJSON {
		w.b = append(w.b, `"licence":`...)
		w.b = jsontext.AppendString(w.b, attribution)
	} else {
		w.b = append(w.b, `"geocoding":{"version":"0.1.0","attribution":`...)
		w.b = jsontext.AppendString(w.b, attribution)
		w.text("licence", "CC BY 4.0")
		w.text("query", q.text)
		w.close()
	}
	w.name("features")
	w.b = append(w.b, '[')
	for i := range q.found {
		e := &q.found[i]
		w.b = jsontext.Next(w.b)
		w.b = append(w.b, `{"type":"Feature","properties":`...)
		if q.format == formatGeoJSON {
			w.open()
			w.int("place_id", int64(e.id))
			w.object(e)
			w.described(q, e)
			w.close()
			w.name("bbox")
			w.b = append(w.b, '[')
			for _, v := range [...]float64{e.bounds[2], e.bounds[0], e.bounds[3], e.bounds[1]} {
				w.b = jsontext.Next(w.b)
				w.float(v)
			}
			w.b = append(w.b, ']')
		} else {
			w.geocoding(q, e)
		}
		w.name("geometry")
		w.b = e.appendGeometry(w.b)
		w.close()
	}
	w.b = append(w.b, "]}"...)
}

// geocoding writes the properties of geocodejson.
func (w *writer) geocoding(q *request, e *entry) {
	w.b = append(w.b, `{"geocoding":`...)
	w.open()
	w.int("place_id", int64(e.id))
	w.object(e)
	w.text("osm_key", e.class)
	w.text("osm_value", e.typ)
	w.text("type", string(geocoder.LevelOf(e.rank)))
	if q.question.simple {
		w.int("accuracy", int64(e.Place.DistanceM))
	}
	w.text("label", e.display)
	if e.Name != "" {
		w.text("name", e.Name)
	}
	if q.address {
		w.admin(e)
	}
	if q.extra {
		w.optional("extra", e.extra())
	}
	w.b = append(w.b, "}}"...)
}

// admin writes the address of an entry with the member admin, which lists the regions around it by
// level.
func (w *writer) admin(e *entry) {
	a := geocoder.AddressNamesOf(e.Parents)
	if geocoder.LevelOf(e.rank) != geocoder.House {
		a = a.WithOwnName(e.rank, e.Name)
	}
	for _, t := range [...]tag{
		{"district", a.District},
		{"city", a.City},
		{"county", a.County},
		{"state", a.State},
		{"country", a.Country},
		{"country_code", e.country},
	} {
		if t.value != "" {
			w.text(t.key, t.value)
		}
	}
	w.name("admin")
	var levels []tag
	for i := range e.Parents {
		p := &e.Parents[i]
		if rank := geocoder.RankOf(p.Type); rank < geocoder.RankLocality {
			levels = append(levels, tag{"level" + strconv.Itoa(rank/2), p.Name})
		}
	}
	w.tags(levels)
}
