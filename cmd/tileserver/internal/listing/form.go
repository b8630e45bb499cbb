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

// Format is an output format of lists of features. Every list supports the forms in Formats.
type Format struct {
	// Name is the value of the parameter format, and Format the media type. Content describes the
	// form; it is nil if the form is not JSON.
	Name    string
	Format  web.Format
	Content func(s *Spec) any
	// Unpaged is set if an answer has all features of an area, which are sent as they are found,
	// unless the request selects a page.
	Unpaged bool
	// Degrees is set if positions are always longitudes and latitudes, in no other coordinate system.
	Degrees bool
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
	// Memory returns about how many bytes a list that has begun takes until its end. It may grow. It is nil
	// if a list keeps nothing.
	Memory func(l *List) int64
}

// Formats are the forms of every list. Clients that name no form get the first. Register adds to
// them.
var Formats = []*Format{JSON, GeoJSON, Lines}

// Register adds a form to every list. Only init functions call it. It panics if the form is
// invalid.
func Register(f *Format) {
	if f.Item == nil {
		panic(fmt.Sprintf("listing: the form %q has no Item: give it the function that writes a feature", f.Name))
	}
	for _, other := range Formats {
		if other.Name == f.Name || other.Format == f.Format {
			panic(fmt.Sprintf("listing: the forms %q and %q have one name or one web.Format: give each its own, by web.NewFormat",
				other.Name, f.Name))
		}
	}
	Formats = append(Formats, f)
}

// FormatParam declares the parameter that names a form. areas is set if the list is of an area,
// because some forms send the whole area.
func FormatParam(areas bool) *endpoint.Value[string] {
	var names []string
	doc := "Form of the answer; without it the Accept header decides."
	for _, f := range Formats {
		names = append(names, f.Name)
		if f.Doc == "" {
			continue
		}
		if doc += " `" + f.Name + "` is " + f.Doc; f.Unpaged && areas {
			doc += ", of all there are unless `limit`, `cursor` or `sort` asks for a page"
		}
		doc += "."
	}
	return endpoint.Word("format", doc, names...)
}

// Answers describes a list of a set in all forms.
func (s *Spec) Answers() endpoint.Content {
	c := endpoint.Content{}
	for _, f := range Formats {
		c[f.Media()] = nil
		if f.Content != nil {
			c[f.Media()] = f.Content(s)
		}
	}
	return c
}

// Media returns the media type without its parameters.
func (f *Format) Media() string {
	media, _, _ := strings.Cut(f.Format.Type(), ";")
	return media
}

// FormatOf returns the form that the parameter format names. If format is "", it returns the form
// with the greatest weight in the Accept header. Of several with equal weights it returns the one
// that the header names first, because generated clients name all types of the description and can
// read only the first. Wildcards are ignored: a client that wants another form than the default
// names it.
func FormatOf(r *http.Request, format string) *Format {
	for _, f := range Formats {
		if f.Name == format {
			return f
		}
	}
	best, most := Formats[0], 0.0
	for name, weight := range web.AcceptedTypes(r) {
		if weight <= most {
			continue
		}
		for _, f := range Formats {
			if strings.EqualFold(name, f.Media()) {
				best, most = f, weight
			}
		}
	}
	return best
}

// List is a list that is written in a form.
type List struct {
	*Spec
	Format *Format
	// Writer writes its features.
	Writer feature.Writer
	// Schema has the properties of the features. Shapes is set if the features are not points.
	// SeveralCollections is set if they are from several collections. UnlistedProperties is set if they may have properties
	// that Schema lacks.
	Schema                                         feature.Schema
	Shapes, SeveralCollections, UnlistedProperties bool
	// Axes are the names of the axes, in the order of Writer.Position.
	Axes [2]string
	// FirstMembers has the first members of a JSON object, followed by a comma.
	FirstMembers string
	memory       any // of the form
}

// Begin begins the list.
func (l *List) Begin(dst []byte) []byte {
	if l.Format.Head == nil {
		return dst
	}
	return l.Format.Head(dst, l)
}

// Append appends a feature. of is the name of its collection, or "" if only one is requested.
func (l *List) Append(dst []byte, f *feature.Feature, of string) ([]byte, error) {
	return l.Format.Item(dst, l, f, of)
}

// End ends the list. next is the cursor of the next page, or "" if there is none.
func (l *List) End(dst []byte, next string) []byte {
	if l.Format.Tail == nil {
		return dst
	}
	return l.Format.Tail(dst, l, next)
}

// Memory returns about how many bytes the list takes, beside what is in dst.
func (l *List) Memory() int64 {
	if l.Format.Memory == nil {
		return 0
	}
	return l.Format.Memory(l)
}

// MayLackProperties reports whether features of a layer may have properties that its schema lacks. written
// is set for a live layer: its schema may have changed since it was read, and may lack properties
// of past features.
func MayLackProperties(s feature.Schema, written bool) bool {
	return written || len(s) >= feature.MaxFields
}

// JSON is an object with a member that has the features.
var JSON = &Format{
	Name: "json", Format: web.FormatJSON, Content: func(s *Spec) any { return s.List }, Object: true,
	Head: func(dst []byte, l *List) []byte {
		return append(append(append(append(append(dst, '{'), l.FirstMembers...), '"'), l.Name...), `":[`...)
	},
	Item: appendItem, Tail: endList,
}

// GeoJSON is a FeatureCollection.
var GeoJSON = &Format{
	Name: "geojson", Format: web.FormatGeoJSON, Content: func(s *Spec) any { return s.Features }, GeoJSON: true, Object: true,
	Head: func(dst []byte, l *List) []byte {
		return append(append(append(dst, '{'), l.FirstMembers...), features...)
	},
	Item: appendItem, Tail: endList,
}

// Lines has one GeoJSON feature per line.
var Lines = &Format{
	Name: "ndjson", Format: web.FormatNDJSON, Content: func(s *Spec) any { return s.Item }, GeoJSON: true,
	Unpaged: true, Doc: "a GeoJSON feature in each line",
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
