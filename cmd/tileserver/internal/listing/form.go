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

// Form is a form of lists of features. The forms in Forms are in every list.
type Form struct {
	// Name is the value of the parameter format, and Form the media type. Content
	// describes the form; nil if it is not JSON.
	Name    string
	Form    web.Form
	Content func(s *Set) any
	// Whole is set if an answer has all features of an area, sent as they are found, unless the
	// request asks for a page.
	Whole bool
	// Doc says what the list is, such as "a row each"; "" for nothing.
	Doc string
	// GeoJSON is set if features are written as GeoJSON. Object is set if a list is a JSON object,
	// which may have further members and has the cursor of the next page. In any other form, the
	// header Link has the address of the next page.
	GeoJSON, Object bool
	// Head, Item and Tail write a list. of is the name of the feature's collection, "" if only
	// one is asked. next is the cursor of the next page. Head and Tail are nil if they would
	// write nothing.
	Head func(dst []byte, l *List) []byte
	Item func(dst []byte, l *List, f *feature.Feature, of string) ([]byte, error)
	Tail func(dst []byte, l *List, next string) []byte
}

// Forms are the forms of every list. Clients that name none get the first. Register adds to
// them.
var Forms = []*Form{JSON, GeoJSON, Lines}

// Register adds a form to every list. It is for init functions. It panics if the form cannot be
// in a list.
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

// FormParam declares the parameter that names a form. areas is set if the list is of an area: some
// forms answer with all of it.
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

// Media is the media type without its parameters.
func (f *Form) Media() string {
	media, _, _ := strings.Cut(f.Form.Type(), ";")
	return media
}

// FormOf returns the form that the parameter format names. If it is "", it returns the form with
// the most weight in the Accept header, and of several with the same weight the one that the header
// names first: generated clients name every type in the description, and read the first. Wildcards
// count for no form: a client that wants another form than the first names it.
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
	// Schema has the properties of the features. Shapes is set if they are not points, and Several
	// if each is of one of several collections. More is set if they may have properties that Schema
	// lacks.
	Schema                feature.Schema
	Shapes, Several, More bool
	// Axes are the names of the axes of Writer.Position, in its order.
	Axes [2]string
	// First are the first members of a JSON object, with a comma behind them.
	First  string
	memory any // of the form
}

// Begin begins the list.
func (l *List) Begin(dst []byte) []byte {
	if l.Form.Head == nil {
		return dst
	}
	return l.Form.Head(dst, l)
}

// Append appends a feature. of is the name of its collection, "" if only one is asked.
func (l *List) Append(dst []byte, f *feature.Feature, of string) ([]byte, error) {
	return l.Form.Item(dst, l, f, of)
}

// End ends the list. next is the cursor of the next page, "" if there is none.
func (l *List) End(dst []byte, next string) []byte {
	if l.Form.Tail == nil {
		return dst
	}
	return l.Form.Tail(dst, l, next)
}

// Incomplete reports whether features of a layer may have properties that its schema lacks. written
// is set if the layer takes writes: its schema may have changed since it was read, and may lack
// properties of the past.
func Incomplete(s feature.Schema, written bool) bool { return written || len(s) >= feature.MaxFields }

// JSON is an object with a member that has the features.
var JSON = &Form{
	Name: "json", Form: web.FormJSON, Content: func(s *Set) any { return s.List }, Object: true,
	Head: func(dst []byte, l *List) []byte {
		return append(append(append(append(append(dst, '{'), l.First...), '"'), l.Name...), `":[`...)
	},
	Item: appendItem, Tail: endList,
}

// GeoJSON is a FeatureCollection.
var GeoJSON = &Form{
	Name: "geojson", Form: web.FormGeoJSON, Content: func(s *Set) any { return s.Features }, GeoJSON: true, Object: true,
	Head: func(dst []byte, l *List) []byte {
		return append(append(append(dst, '{'), l.First...), features...)
	},
	Item: appendItem, Tail: endList,
}

// Lines are GeoJSON features, one in a line.
var Lines = &Form{
	Name: "ndjson", Form: web.FormNDJSON, Content: func(s *Set) any { return s.One }, GeoJSON: true,
	Whole: true, Doc: "a GeoJSON feature in each line",
	Item: func(dst []byte, l *List, f *feature.Feature, of string) ([]byte, error) {
		dst, err := l.Writer.Append(dst, f, memberOf(of))
		return append(dst, '\n'), err
	},
}

func appendItem(dst []byte, l *List, f *feature.Feature, of string) ([]byte, error) {
	return l.Writer.Append(jsontext.Next(dst), f, memberOf(of))
}

// memberOf returns the member that names the collection of a feature.
func memberOf(collection string) string {
	if collection == "" {
		return ""
	}
	return string(append(jsontext.AppendString([]byte(`"collection":`), collection), ','))
}

func endList(dst []byte, _ *List, next string) []byte { return End(dst, next) }
