package web

import (
	"fmt"
	"strconv"
)

// Format is the representation of an answer, registered by NewFormat. The zero Format is FormatJSON. Its
// number is valid only in one process; ETags use Tag.
type Format uint16

// Media describes a form.
type Media struct {
	// Name distinguishes the form from all others, which may have the same media type.
	Name, Type string
	// Picture is set for an image. Images are already compressed and get no content coding.
	Picture bool
	// Packed is set for another form that is already compressed, and gets no content coding.
	Packed bool
	// Filename is the name under which browsers save an answer; "" is for forms that they show.
	Filename string
	// NoSniff is set if a browser could interpret the body as another type. The header nosniff then
	// prevents this.
	NoSniff bool
}

// registered is a form with values that are derived from it once.
type registered struct {
	Media
	header      []string // Content-Type, ready to be put into a header map
	disposition []string // Content-Disposition, or nil
	tag         uint64
}

// forms has the forms of all packages, by their numbers.
var forms = []registered{register(Media{Name: "json", Type: "application/json"})}

// FormatJSON is the form of answers without an explicit form.
const FormatJSON Format = 0

// These forms are used by several packages of endpoints.
var (
	FormatGeoJSON = NewFormat(Media{Name: "geojson", Type: "application/geo+json"})
	FormatMVT     = NewFormat(Media{Name: "mvt", Type: "application/vnd.mapbox-vector-tile"})
	FormatScript  = NewFormat(Media{Name: "script", Type: "text/javascript;charset=UTF-8", NoSniff: true})
	FormatText    = NewFormat(Media{Name: "text", Type: "text/plain;charset=UTF-8", NoSniff: true})
	FormatNDJSON  = NewFormat(Media{Name: "ndjson", Type: "application/x-ndjson"})
	FormatCSV     = NewFormat(Media{Name: "csv", Type: "text/csv; charset=utf-8; header=present", NoSniff: true})
	FormatParquet = NewFormat(Media{Name: "parquet", Type: "application/vnd.apache.parquet", Packed: true, Filename: "features.parquet"})
	FormatMLT     = NewFormat(Media{Name: "mlt", Type: "application/vnd.maplibre-tile"})
	FormatPNG     = NewFormat(Media{Name: "png", Type: "image/png", Picture: true})
)

// NewFormat registers a form. Only initializers of package variables and init functions call it. It
// panics if the form is invalid.
func NewFormat(m Media) Format {
	if m.Name == "" || m.Type == "" {
		panic(fmt.Sprintf("web: a form has the name %q and the media type %q: give it both", m.Name, m.Type))
	}
	for i := range forms {
		if forms[i].Name == m.Name {
			panic(fmt.Sprintf("web: %s and %s are both the form %s: give one of them another name", forms[i].Type, m.Type, m.Name))
		}
	}
	forms = append(forms, register(m))
	return Format(len(forms) - 1) //nolint:gosec // as many as there are declarations
}

func register(m Media) registered {
	r := registered{Media: m, header: []string{m.Type}, tag: uint64(HashStart.Bytes(m.Name).Bytes(m.Type))}
	if m.Filename != "" {
		r.disposition = []string{`attachment; filename="` + m.Filename + `"`}
	}
	return r
}

// Type returns the media type of the form.
func (f Format) Type() string { return forms[f].Type }

// IsPicture reports whether the form is an image.
func (f Format) IsPicture() bool { return forms[f].Picture }

// isPacked reports whether bodies are already compressed.
func (f Format) isPacked() bool { return forms[f].Picture || forms[f].Packed }

// Tag returns the part of ETags for the form. It is the same in every process.
func (f Format) Tag() uint64 { return forms[f].tag }

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
