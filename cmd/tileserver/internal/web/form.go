package web

import (
	"fmt"
	"strconv"
)

// Form is the representation of an answer, registered by NewForm. The zero Form is FormJSON. Its
// number is valid only in one process; ETags use Tag.
type Form uint16

// Media describes a form.
type Media struct {
	// Name distinguishes the form from all others, which may have the same media type.
	Name, Type string
	// Picture is set for an image. Images are already compressed and get no content coding.
	Picture bool
	// Plain is set if a browser could interpret the body as another type. The header nosniff then
	// prevents this.
	Plain bool
}

// registered is a form with values that are derived from it once.
type registered struct {
	Media
	header []string // Content-Type, ready to be put into a header map
	tag    uint64
}

// forms has the forms of all packages, by their numbers.
var forms = []registered{register(Media{Name: "json", Type: "application/json"})}

// FormJSON is the form of answers without an explicit form.
const FormJSON Form = 0

// These forms are used by several packages of endpoints.
var (
	FormGeoJSON = NewForm(Media{Name: "geojson", Type: "application/geo+json"})
	FormMVT     = NewForm(Media{Name: "mvt", Type: "application/vnd.mapbox-vector-tile"})
	FormScript  = NewForm(Media{Name: "script", Type: "text/javascript;charset=UTF-8", Plain: true})
	FormText    = NewForm(Media{Name: "text", Type: "text/plain;charset=UTF-8", Plain: true})
	FormNDJSON  = NewForm(Media{Name: "ndjson", Type: "application/x-ndjson"})
	FormMLT     = NewForm(Media{Name: "mlt", Type: "application/vnd.maplibre-tile"})
	FormPNG     = NewForm(Media{Name: "png", Type: "image/png", Picture: true})
)

// NewForm registers a form. Only initializers of package variables and init functions call it. It
// panics if the form is invalid.
func NewForm(m Media) Form {
	if m.Name == "" || m.Type == "" {
		panic(fmt.Sprintf("web: a form has the name %q and the media type %q: give it both", m.Name, m.Type))
	}
	for i := range forms {
		if forms[i].Name == m.Name {
			panic(fmt.Sprintf("web: %s and %s are both the form %s: give one of them another name", forms[i].Type, m.Type, m.Name))
		}
	}
	forms = append(forms, register(m))
	return Form(len(forms) - 1) //nolint:gosec // as many as there are declarations
}

func register(m Media) registered {
	return registered{m, []string{m.Type}, uint64(HashStart.Bytes(m.Name).Bytes(m.Type))}
}

// Type returns the media type of the form.
func (f Form) Type() string { return forms[f].Type }

// Picture reports whether the form is an image.
func (f Form) Picture() bool { return forms[f].Picture }

// Tag returns the part of ETags for the form. It is the same in every process.
func (f Form) Tag() uint64 { return forms[f].tag }

// These are values for a header map.
var (
	problemTypes   = []string{problemType}
	htmlTypes      = []string{"text/html; charset=utf-8"}
	NoStore        = []string{"no-store"}
	PrivateNoStore = []string{"private, no-store"}
	noSniff        = []string{"nosniff"}
)

// problemType is the media type of problems.
const problemType = "application/problem+json"

// These are values of Vary.
var (
	varyEncoding         = []string{"Accept-Encoding"}
	varyAccept           = []string{"Accept"}
	varyAcceptEncoding   = []string{"Accept, Accept-Encoding"}
	varyLanguage         = []string{"Accept-Language"}
	varyLanguageEncoding = []string{"Accept-Language, Accept-Encoding"}
)

// lengths are the values of Content-Length of small bodies. Most answers about addresses are small,
// and are made so quickly that the time to make these values would matter.
var lengths = func() (all [2 << 10][]string) {
	for i := range all {
		all[i] = []string{strconv.Itoa(i)}
	}
	return all
}()

// lengthHeader returns the value of Content-Length, not to be changed.
func lengthHeader(n int) []string {
	if n < len(lengths) {
		return lengths[n]
	}
	return []string{strconv.Itoa(n)}
}

const (
	allowOriginHeader   = "Access-Control-Allow-Origin"
	exposeHeadersHeader = "Access-Control-Expose-Headers"
)

// exposed lets pages of other origins read every header. By default browsers hide headers such as
// ETag and Retry-After from them.
var exposed = []string{"*"}

// crossOrigin lets pages that isolate themselves from other sites show resources that are loaded
// without CORS, for example by an img or a script.
var crossOrigin = []string{"cross-origin"}
