// Package ogcapi has the code that the packages for OGC API standards share: links, the choice of a
// format, documents as JSON or as HTML pages, and the additions of one package to the landing page
// and to the collections of another.
package ogcapi

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
)

// ErrNoCollection is matched when a collection is not there.
var ErrNoCollection = errors.New("no such collection")

// Kinds are the problems of requests for collections.
var Kinds = []web.ProblemKind{
	{Err: ErrNoCollection, Status: http.StatusNotFound, Type: "collection-not-found", Title: "There is no such collection",
		Detail: "Use one of /ogc/collections."},
}

// Link is a link of a document in the sense of RFC 8288.
type Link struct {
	_         struct{} `doc:"A link, as RFC 8288 has it."`
	Href      string   `json:"href"`
	Rel       string   `json:"rel"`
	Type      string   `json:"type,omitempty"`
	Title     string   `json:"title,omitempty"`
	Templated bool     `json:"templated,omitempty"`
}

// These are relations that several documents use.
const (
	RelQueryables = "http://www.opengis.net/def/rel/ogc/1.0/queryables"
	RelSchemes    = "http://www.opengis.net/def/rel/ogc/1.0/tiling-schemes"
)

// These are media types of documents.
const (
	TypeJSON    = "application/json"
	TypeGeoJSON = "application/geo+json"
	TypeHTML    = "text/html"
	TypeOpenAPI = "application/vnd.oai.openapi+json;version=3.0"
	TypeSchema  = "application/schema+json"
)

// Format is a format of a resource: its name in the parameter f and its media type.
type Format struct {
	Name, Type string
	Format     web.Format
}

// DocumentFormats lists the formats of documents; the first is the default.
var DocumentFormats = []Format{{Name: "json", Type: TypeJSON}, {Name: "html", Type: TypeHTML}}

// FormatParam declares f, which names one of the formats or its media type; the first is the default.
// [ChooseFormat] checks it.
func FormatParam(doc string, formats []Format) *endpoint.Value[string] {
	names := make([]string, len(formats))
	for i := range formats {
		names[i] = formats[i].Name
	}
	return endpoint.New("f", doc, endpoint.Schema{"type": "string", "enum": names}, func(q *endpoint.Params, name string) string {
		return q.Text(name, 40)
	}).WithBound("default", names[0])
}

// ChooseFormat returns the format that the parameter f names, or else the one that the Accept header
// prefers, and whether the header chose. An unsupported format is refused.
func ChooseFormat(q *endpoint.Params, r *http.Request, formats []Format) (f Format, byAccept bool, err error) {
	if q.Has("f") {
		var names []string
		name := q.Text("f", 40)
		for _, f := range formats {
			if f.Name == name || f.Type == name {
				return f, false, q.Err
			}
			names = append(names, f.Name)
		}
		return f, false, endpoint.Refuse(endpoint.ErrParameter, "f", "Set f to one of: "+strings.Join(names, ", ")+".")
	}
	return AcceptedFormat(r, formats), true, nil
}

// AcceptedFormat returns the format that the Accept header prefers, or the first one if it
// prefers none.
func AcceptedFormat(r *http.Request, formats []Format) Format {
	types := make([]string, len(formats))
	for i, f := range formats {
		types[i], _, _ = strings.Cut(f.Type, ";")
	}
	best := web.PreferredType(r, types...)
	return formats[max(slices.Index(types, best), 0)]
}

// CollectionURL returns the address of a collection.
func CollectionURL(base, id string) string { return base + "/ogc/collections/" + url.PathEscape(id) }

// Part is the addition of a package to the documents of the API.
type Part struct {
	// Conformance lists the URIs of the conformance classes that the part implements.
	Conformance []string
	// LandingLinks returns links for the landing page. CollectionLinks returns links for a collection,
	// if the package serves data of the collection. base is the server's address.
	LandingLinks    func(base string) []Link
	CollectionLinks func(v ask.View, base, id string) []Link
}
