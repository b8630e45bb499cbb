package nominatim

import (
	"bytes"
	"encoding/xml"
	"maps"
	"strconv"
)

const xmlHead = "<?xml version=\"1.0\" encoding=\"UTF-8\" ?>\n"

// appendXML appends a text. It escapes the special characters of XML, and replaces characters that
// XML does not allow.
func appendXML(dst []byte, text string) []byte {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(text)) // a buffer takes everything
	return append(dst, b.Bytes()...)
}

// markup writes XML.
type markup struct{ b []byte }

func (m *markup) attribute(name, value string) {
	m.b = append(append(append(m.b, ' '), name...), `="`...)
	m.b = append(appendXML(m.b, value), '"')
}

// element writes an element with a text.
func (m *markup) element(name, text string) {
	m.b = append(append(append(m.b, '<'), name...), '>')
	m.b = appendXML(m.b, text)
	m.shut(name)
}

func (m *markup) shut(name string) { m.b = append(append(append(m.b, "</"...), name...), '>') }

// appendXML appends the results as XML.
func (q *request) appendXML(dst []byte) []byte {
	m := markup{append(dst, xmlHead...)}
	root, query := "searchresults", q.text
	if q.question.simple {
		root = "reversegeocode"
	}
	m.b = append(append(m.b, '<'), root...)
	m.attribute("timestamp", q.timestamp())
	m.attribute("attribution", attribution)
	m.attribute("querystring", query)
	if q.question.name == "/search" {
		m.attribute("more_url", q.moreURL())
	}
	m.b = append(m.b, '>')
	if q.question.simple && len(q.found) == 0 {
		m.element("error", "Unable to geocode")
	}
	for i := range q.found {
		m.entry(q, &q.found[i])
	}
	m.shut(root)
	return append(m.b, '\n')
}

// moreURL returns the relative address of the next results: the same request, but excluding these
// results. It has no key, because package web removes the key from the address.
func (q *request) moreURL() string {
	values := maps.Clone(q.values)
	ids := q.get(excludedIDs)
	for i := range q.found {
		if ids != "" {
			ids += ","
		}
		ids += strconv.FormatUint(q.found[i].id, 10)
	}
	if ids != "" {
		values.Set(excludedIDs, ids)
	}
	return "search?" + values.Encode()
}

// entry writes a place. In a reverse query the element contains the text, and the details follow
// the element. In a list the element contains the details.
func (m *markup) entry(q *request, e *entry) {
	name := "place"
	if q.question.simple {
		name = "result"
	}
	id := strconv.FormatUint(e.id, 10)
	m.b = append(append(m.b, '<'), name...)
	m.attribute("place_id", id)
	m.attribute("osm_type", objects[e.object])
	m.attribute("osm_id", id)
	if e.Name != "" {
		m.attribute("ref", e.Name)
	}
	m.attribute("lat", degrees(e.Lat))
	m.attribute("lon", degrees(e.Lon))
	m.attribute("boundingbox", degrees(e.bounds[0])+","+degrees(e.bounds[1])+","+degrees(e.bounds[2])+","+degrees(e.bounds[3]))
	m.attribute("place_rank", strconv.Itoa(e.searchRank))
	m.attribute("address_rank", strconv.Itoa(e.rank))
	if q.outlines {
		m.attribute("geojson", string(e.appendGeometry(nil)))
	}
	if q.question.simple {
		m.b = appendXML(append(m.b, '>'), e.display)
		m.shut(name)
		if q.address {
			m.b = append(m.b, "<addressparts>"...)
			m.address(e)
			m.shut("addressparts")
		}
		m.details(q, e)
		return
	}
	m.attribute("display_name", e.display)
	m.attribute("class", e.class)
	m.attribute("type", e.typ)
	m.attribute("importance", strconv.FormatFloat(e.importance, 'f', -1, 64))
	m.b = append(m.b, '>')
	if q.address {
		m.address(e)
	}
	m.details(q, e)
	m.shut(name)
}

// address writes the lines of an address. Their keys must be valid XML names.
func (m *markup) address(e *entry) {
	for _, t := range e.address() {
		m.element(t.key, t.value)
	}
}

func (m *markup) details(q *request, e *entry) {
	if q.extra {
		m.b = append(m.b, "<extratags>"...)
		for _, t := range e.extra() {
			m.b = append(m.b, "<tag"...)
			m.attribute("key", t.key)
			m.attribute("value", t.value)
			m.b = append(m.b, "/>"...)
		}
		m.shut("extratags")
	}
	if q.names {
		m.b = append(m.b, "<namedetails>"...)
		for _, t := range e.names {
			m.b = append(m.b, "<name"...)
			m.attribute("desc", t.key)
			m.b = appendXML(append(m.b, '>'), t.value)
			m.shut("name")
		}
		m.shut("namedetails")
	}
}
