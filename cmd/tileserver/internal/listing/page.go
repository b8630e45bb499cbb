package listing

import (
	"strconv"

	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
)

// Around the features of a FeatureCollection.
const (
	CollectionHead = `{` + features
	CollectionTail = `]}`

	features = `"type":"FeatureCollection","features":[`
)

// Page writes a list into an object: as a member or, in GeoJSON, as the features of
// the collection that the object then is. Body is the answer so far.
type Page struct {
	Body []byte
	Form web.Form
	some bool // items have been written
}

// Begin begins the list of an object that has been opened.
func Begin(dst []byte, form web.Form, name string) Page {
	if form == web.FormGeoJSON {
		dst = append(dst, features...)
	} else {
		dst = append(append(append(dst, '"'), name...), `":[`...)
	}
	return Page{Body: dst, Form: form}
}

// Next sets the comma before an item that is then appended to Body.
func (p *Page) Next() {
	if p.some {
		p.Body = append(p.Body, ',')
	}
	p.some = true
}

// Open begins an item that is a point. Its members are then appended to Body. id is
// the id of the feature as JSON, nil for none.
func (p *Page) Open(id []byte, lon, lat float64) {
	p.Next()
	dst := p.Body
	if p.Form == web.FormGeoJSON {
		dst = append(dst, `{"type":"Feature",`...)
		if id != nil {
			dst = append(append(append(dst, `"id":`...), id...), ',')
		}
		dst = strconv.AppendFloat(append(dst, `"geometry":{"type":"Point","coordinates":[`...), lon, 'f', -1, 64)
		dst = strconv.AppendFloat(append(dst, ','), lat, 'f', -1, 64)
		dst = append(dst, `]},"properties":`...)
	}
	p.Body = append(dst, '{')
}

// Shut ends what Open began.
func (p *Page) Shut() {
	if p.Form == web.FormGeoJSON {
		p.Body = append(p.Body, '}')
	}
	p.Body = append(p.Body, '}')
}

// End ends the list and its object, with the cursor of the next page if there is one.
func (p *Page) End(next string) []byte { return endObject(p.Body, nil, next) }

// AppendDistance is feature.AppendDistance with a comma before it.
func AppendDistance(dst []byte, metres float64) []byte {
	return feature.AppendDistance(append(dst, ','), metres)
}
