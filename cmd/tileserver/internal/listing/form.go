package listing

import (
	"fmt"
	"net/http"
	"strings"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/internal/jsontext"
)

// Form is an output format of lists of features. Every list supports the forms in Forms.
type Form struct {
	// Name is the value of the parameter format, and Form the media type. Content describes the
	// form; it is nil if the form is not JSON.
	Name    string
	Form    web.Form
	Content func(s *Set) any
	// Whole is set if an answer has all features of an area, which are sent as they are found,
	// unless the request selects a page.
	Whole bool
	// Doc is a short description of the list, such as "a row each", or "".
	Doc string
	// GeoJSON is set if features are written as GeoJSON. Object is set if a list is a JSON object,
	// which may have further members and has the cursor of the next page. In any other form, the
	// header Link has the address of the next page.
	GeoJSON, Object bool
	// Head, Item and Tail write a list. of is the name of the feature's collection, or "" if only
	// one collection is requested. next is the cursor of the next page. Head and Tail are nil if
	// they would write nothing.
	Head func(dst []byte, l *List) []byte
	Item func(dst []byte, l *List, f *feature.Feature, of string) ([]byte, error)
	Tail func(dst []byte, l *List, next string) []byte
}

// Forms are the forms of every list. Clients that name no form get the first. Register adds to
// them.
var Forms = []*Form{JSON, GeoJSON, Lines}

// Register adds a form to every list. Only init functions call it. It panics if the form is
// invalid.
func Register(f *Form) {
	if f.Item == nil {
		panic(fmt.Sprintf("listing: the form %q has no Item: give it the function that writes a feature", f.Name))
	}
	for _, other := range Forms {
		if other.Name == f.Name || other.Form == f.Form {
			panic(fmt.Sprintf("listing: the forms %q and %q have one name or one web.Form: give each its own, by web.NewForm", other.Name, f.Name))
		}
	}
	Forms = append(Forms, f)
}

// FormParam declares the parameter that names a form. areas is set if the list is of an area,
// because some forms send the whole area.
func FormParam(areas bool) *endpoint.Value[string] {
	var names []string
	doc := "Form of the answer; without it the Accept header decides."
	for _, f := range Forms {
		names = append(names, f.Name)
		if f.Doc == "" {
			continue
		}
		if doc += " `" + f.Name + "` is " + f.Doc; f.Whole && areas {
			doc += ", of all there are unless `limit`, `cursor` or `sort` asks for a page"
		}
		doc += "."
	}
	return endpoint.Word("format", doc, names...)
}

// Answers describes a list of a set in all forms.
func (s *Set) Answers() endpoint.Content {
	c := endpoint.Content{}
	for _, f := range Forms {
		c[f.Media()] = nil
		if f.Content != nil {
			c[f.Media()] = f.Content(s)
		}
	}
	return c
}

// Media returns the media type without its parameters.
func (f *Form) Media() string {
	media, _, _ := strings.Cut(f.Form.Type(), ";")
	return media
}

// FormOf returns the form that the parameter format names. If format is "", it returns the form
// with the greatest weight in the Accept header. Of several with equal weights it returns the one
// that the header names first, because generated clients name all types of the description and can
// read only the first. Wildcards are ignored: a client that wants another form than the default
// names it.
func FormOf(r *http.Request, format string) *Form {
	for _, f := range Forms {
		if f.Name == format {
			return f
		}
	}
	best, most := Forms[0], 0.0
	for name, weight := range web.AcceptedTypes(r) {
		if weight <= most {
			continue
		}
		for _, f := range Forms {
			if strings.EqualFold(name, f.Media()) {
				best, most = f, weight
			}
		}
	}
	return best
}

// List is a list that is written in a form.
type List struct {
	*Set
	Form *Form
	// Writer writes its features.
	Writer feature.Writer
	// Schema has the properties of the features. Shapes is set if the features are not points.
	// Several is set if they are from several collections. More is set if they may have properties
	// that Schema lacks.
	Schema                feature.Schema
	Shapes, Several, More bool
	// Axes are the names of the axes, in the order of Writer.Position.
	Axes [2]string
	// First has the first members of a JSON object, followed by a comma.
	First  string
	some   bool // features have been written
	memory any  // of the form
}

// Begin begins the list.
func (l *List) Begin(dst []byte) []byte {
	if l.Form.Head == nil {
		return dst
	}
	return l.Form.Head(dst, l)
}

// Append appends a feature. of is the name of its collection, or "" if only one is requested.
func (l *List) Append(dst []byte, f *feature.Feature, of string) ([]byte, error) {
	return l.Form.Item(dst, l, f, of)
}

// End ends the list. next is the cursor of the next page, or "" if there is none.
func (l *List) End(dst []byte, next string) []byte {
	if l.Form.Tail == nil {
		return dst
	}
	return l.Form.Tail(dst, l, next)
}

// Incomplete reports whether features of a layer may have properties that its schema lacks. written
// is set for a live layer: its schema may have changed since it was read, and may lack properties
// of past features.
func Incomplete(s feature.Schema, written bool) bool { return written || len(s) >= feature.MaxFields }

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

// Lines has one GeoJSON feature per line.
var Lines = &Form{
	Name: "ndjson", Form: web.FormNDJSON, Content: func(s *Set) any { return s.One }, GeoJSON: true,
	Whole: true, Doc: "a GeoJSON feature in each line",
	Item: func(dst []byte, l *List, f *feature.Feature, of string) ([]byte, error) {
		dst, err := l.Writer.Append(dst, f, memberOf(of))
		return append(dst, '\n'), err
	},
}

func appendItem(dst []byte, l *List, f *feature.Feature, of string) ([]byte, error) {
	if l.some {
		dst = append(dst, ',')
	}
	l.some = true
	return l.Writer.Append(dst, f, memberOf(of))
}

// memberOf returns the member that names the collection of a feature.
func memberOf(collection string) string {
	if collection == "" {
		return ""
	}
	return string(append(jsontext.AppendString([]byte(`"collection":`), collection), ','))
}

func endObject(dst []byte, _ *List, next string) []byte {
	dst = append(dst, ']')
	if next != "" {
		dst = jsontext.AppendString(append(dst, `,"next":`...), next)
	}
	return append(dst, '}')
}
