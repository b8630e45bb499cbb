package listing

import (
	"net/http"

	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/internal/jsontext"
)

// Form is a form of lists of features. Those of Forms are in every list.
type Form struct {
	// Name is the value of the parameter format, and Form the media type. Content
	// describes the form; nil if it is not JSON.
	Name    string
	Form    web.Form
	Content func(s *Set) any
	// Whole answers have all features of an area, one after the other as they are found,
	// instead of a page of them. Doc of the form says that.
	Whole bool
	Doc   string
	// GeoJSON says that features are written as GeoJSON, and Object that a list is a JSON
	// object, which may have further members.
	GeoJSON, Object bool
	// Head, Item and Tail write a list. members are finished members of the feature, each
	// with a comma behind it. next is the cursor of the next page. Head and Tail are nil if
	// they would write nothing.
	Head func(dst []byte, l *List) []byte
	Item func(dst []byte, l *List, f *feature.Feature, members string) ([]byte, error)
	Tail func(dst []byte, l *List, next string) []byte
}

// List is a list that is written in a form.
type List struct {
	*Set
	Form *Form
	// Writer writes its features.
	Writer feature.Writer
	// First are the first members of a JSON object, with a comma behind them.
	First string
	some  bool // features have been written
}

// Begin begins the list.
func (l *List) Begin(dst []byte) []byte {
	if l.Form.Head == nil {
		return dst
	}
	return l.Form.Head(dst, l)
}

// Append appends a feature. members are finished members of it, each with a comma behind it.
func (l *List) Append(dst []byte, f *feature.Feature, members string) ([]byte, error) {
	return l.Form.Item(dst, l, f, members)
}

// End ends the list. next is the cursor of the next page, "" if there is none.
func (l *List) End(dst []byte, next string) []byte {
	if l.Form.Tail == nil {
		return dst
	}
	return l.Form.Tail(dst, l, next)
}

// Forms are the forms of every list. Clients that name none get the first.
var Forms = []*Form{JSON, GeoJSON, Lines}

// JSON is an object with a member that has the features.
var JSON = &Form{
	Name: "json", Form: web.FormJSON, Content: func(s *Set) any { return s.List }, Object: true,
	Head: func(dst []byte, l *List) []byte {
		return append(append(append(append(append(dst, '{'), l.First...), '"'), l.Name...), `":[`...)
	},
	Item: appendItem, Tail: endObject,
}

// GeoJSON is a FeatureCollection.
var GeoJSON = &Form{
	Name: "geojson", Form: web.FormGeoJSON, Content: func(s *Set) any { return s.Features }, GeoJSON: true, Object: true,
	Head: func(dst []byte, l *List) []byte {
		return append(append(append(dst, '{'), l.First...), features...)
	},
	Item: appendItem, Tail: endObject,
}

// Lines are GeoJSON features, one in a line.
var Lines = &Form{
	Name: "ndjson", Form: web.FormNDJSON, Content: func(s *Set) any { return s.One }, GeoJSON: true,
	Whole: true, Doc: "ndjson is all of them, a GeoJSON feature in each line.",
	Item: func(dst []byte, l *List, f *feature.Feature, members string) ([]byte, error) {
		dst, err := l.Writer.Append(dst, f, members)
		return append(dst, '\n'), err
	},
}

func appendItem(dst []byte, l *List, f *feature.Feature, members string) ([]byte, error) {
	if l.some {
		dst = append(dst, ',')
	}
	l.some = true
	return l.Writer.Append(dst, f, members)
}

func endObject(dst []byte, _ *List, next string) []byte {
	dst = append(dst, ']')
	if next != "" {
		dst = jsontext.AppendString(append(dst, `,"next":`...), next)
	}
	return append(dst, '}')
}

// FormOf returns the form that the parameter format names. If it is "", it returns the
// form that the client prefers.
func FormOf(r *http.Request, format string) *Form {
	for _, f := range Forms {
		if f.Name == format {
			return f
		}
	}
	if web.PrefersGeoJSON(r) {
		return GeoJSON
	}
	return JSON
}
