// Package endpoint declares the endpoints of the HTTP interface. One declaration says everything:
// path, parameters, answers, problems, cost and handler. The reading and refusal of parameters,
// admission, OPTIONS, the description of the interface and its tests follow from it. Package web
// serves endpoints, and package apidoc describes them.
package endpoint

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

// Endpoint declares an endpoint. It is not changed once it is served.
type Endpoint struct {
	// Path has its parameters in braces; {path} at its end takes all the rest. Also are further
	// paths with the same answers.
	Path string
	Also []string
	// Route is the router's pattern if it differs from Path. A part of a path that holds
	// several parameters is one parameter to the router.
	Route string
	// Methods default to GET, which includes HEAD. Any means every method, also those that
	// the router does not know.
	Methods []string
	Any     bool

	// ID is the operationId: letters, digits, _ and -. Tag is a group of the
	// description. Rank is the order in it, lower first; equal ranks are ordered by
	// path.
	ID, Tag string
	Rank    int
	Summary string
	// Doc is Markdown. Only its empty lines and backquotes have a meaning.
	Doc string
	// Elsewhere is the address of the documentation of the service that the endpoint imitates.
	Elsewhere string
	// Hidden endpoints are not described: they answer at the root like a described
	// endpoint below it, or are part of a page.
	Hidden bool
	// Admin is set if the endpoint is on the operator's own listener alone.
	Admin bool

	// Params are the parameters that requests may have, parameters of the path first.
	Params []Param
	// Loose is set if other parameters are ignored, and Filters if the handler judges them, by
	// [Params.Others].
	Loose, Filters bool
	// Lines are the parameters that a line of the body may have.
	Lines []Param

	// Handle answers a request. It is nil if another endpoint of the same Route answers.
	Handle Handler
	Cost   Cost
	Keys   KeyRule
	// Scoped is set if GET checks the scope of the key. Other methods may do so if it is not set.
	Scoped bool
	// Body is set if the endpoint reads a body, or tolerates one, and bounds it itself. Takes has
	// its media types with their content. Needed is set if there must be a body.
	Body   bool
	Takes  Content
	Needed bool
	// Layer is the layer with whose name the path begins, if it begins so for that alone.
	Layer string
	// Label names the endpoint in metrics; "" means by its route.
	Label string
	// Refuse answers a request that is turned away before it is handled, in the words of the
	// service that the endpoint imitates. Nil means our own words.
	Refuse func(c echo.Context, err error)

	// Answers are the possible contents of a 200. Empty says when the answer is a 204 instead;
	// "" means never.
	Answers Content
	Empty   string
	Keeps   Keeping
	// Headers are further headers of a 200, by their names in package apidoc.
	Headers []string
	// Problems are the types of errors. dataset-missing includes the types for a data set that
	// cannot be read. The types of every request are always included.
	Problems []string
	// Others are further answers.
	Others []Other

	// lost are routes of this endpoint that another endpoint answers.
	lost map[string]bool
	// query is Query, once the endpoint is served.
	query *Query

	// Example is a request, relative to the server, with a good answer from the
	// demo's data and from those of TestExamples.
	Example Example
}

// Added are endpoints of a face R that files of their own declare:
//
//	var _ = added.Add(func(s *Handlers) endpoint.Endpoint { return endpoint.Endpoint{…} })
type Added[R any] []func(R) Endpoint

// Add adds an endpoint. Its result is only there to be assigned to a variable of the package.
func (a *Added[R]) Add(declare func(R) Endpoint) bool {
	*a = append(*a, declare)
	return true
}

// To returns the endpoints of a face followed by those that were added.
func (a Added[R]) To(handlers R, list ...Endpoint) []Endpoint {
	for _, declare := range a {
		list = append(list, declare(handlers))
	}
	return list
}

// Handler answers a request. Its parameters are read by the endpoint's own declarations.
type Handler func(c echo.Context, q *Params) error

// Content is the content of bodies by media type: a value whose type is described, a
// Schema, or nil if it is not JSON.
type Content map[string]any

// Other is an answer with a status of its own.
type Other struct {
	Status  int
	Text    string
	Content Content
	Headers []string
}

// Refused are answers of the same content, by status.
func Refused(content Content, texts map[int]string) (list []Other) {
	for _, status := range slices.Sorted(maps.Keys(texts)) {
		list = append(list, Other{Status: status, Text: texts[status], Content: content})
	}
	return list
}

// Example is a request and, for a POST, its body. Note explains it.
type Example struct{ Request, Body, Note string }

// Cost is the class of an endpoint, by the work of its dearest question; TestCosts of
// package httpapi measures that. It decides which of the places of --max-concurrent
// requests take.
type Cost uint8

const (
	// Light requests take at most 20 ms of a processor, whatever they ask.
	Light Cost = iota + 1
	// Heavy requests may take more. They share a quarter of the places, so that
	// tiles and lookups go on when heavy requests are at their limit.
	Heavy
	// Mixed requests are light, with exceptions: for an exception the handler takes a heavy place
	// once it knows that it is one.
	Mixed
	// Streamed requests run for as long as their client sends lines.
	Streamed
	// Followed requests are answered for as long as their client listens, and hardly
	// cost any work. They have places of their own; each client address gets a few.
	Followed
	// Vital requests take no place: they are needed most when the service is at
	// its limit.
	Vital
)

// KeyRule is the rule for who may ask an endpoint.
type KeyRule uint8

const (
	// KeysAsked admits requests with a key, if the server asks for keys, and counts
	// them against a limit.
	KeysAsked KeyRule = iota
	// KeysUnasked admits everybody and uses up no limit. It is for endpoints that watch the
	// service, and for the files of its page.
	KeysUnasked
	// KeysInside: the handler asks for a key, and no limit is used up.
	KeysInside
	// KeysByUsername: the parameter username is taken for a key.
	KeysByUsername
	// KeysOfProxy looks only at the header that is ours alone: the other
	// credentials of the request are for another service.
	KeysOfProxy
	// KeysOfOthers leaves it to the endpoint, which asks for keys of its own.
	KeysOfOthers
)

// Keeping says how answers may be cached, which decides their headers.
type Keeping string

// The ways of keeping.
const (
	Tagged  Keeping = "tagged"  // with an entity tag
	Instant Keeping = "instant" // with a tag if the parameter at is given, and else not at all
	Varies  Keeping = "varies"  // with a tag, except errors and answers that depend on the time
	Plain   Keeping = "plain"   // without an entity tag
	File    Keeping = "file"    // as files of the map page are
	Never   Keeping = "never"
	Admins  Keeping = "admin" // never, and not to be read by pages of other origins
)

// Revalidated reports whether a client may get a 304.
func (k Keeping) Revalidated() bool {
	return slices.Contains([]Keeping{Tagged, Instant, Varies, File}, k)
}

// Offered are the methods that are declared.
func (e *Endpoint) Offered() []string {
	if e.Methods == nil {
		return []string{http.MethodGet, http.MethodHead}
	}
	return e.Methods
}

// Method is the first method.
func (e *Endpoint) Method() string { return e.Offered()[0] }

// Paths are Path and Also.
func (e *Endpoint) Paths() []string { return append([]string{e.Path}, e.Also...) }

// Routes are the router's patterns of all paths.
func (e *Endpoint) Routes() []string {
	if e.Route != "" {
		return []string{e.Route}
	}
	list := e.Paths()
	for i, path := range list {
		list[i] = braces.ReplaceAllString(strings.Replace(path, "{path}", "*", 1), ":$1")
	}
	return slices.DeleteFunc(list, func(route string) bool { return e.lost[route] })
}

var (
	braces = regexp.MustCompile(`\{(\w+)\}`)
	ids    = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
)

// AtRoot returns endpoints without the beginning of their paths. They are hidden, since they
// are described already.
func AtRoot(list []Endpoint, below string) []Endpoint {
	list = slices.Clone(list)
	for i := range list {
		e := &list[i]
		e.Path, e.Also, e.Hidden = strings.TrimPrefix(e.Path, below), slices.Clone(e.Also), true
		for j := range e.Also {
			e.Also[j] = strings.TrimPrefix(e.Also[j], below)
		}
	}
	return list
}

// Without returns the endpoints of list, without the paths at which one of others answers. An
// endpoint that loses paths stays described, and answers at the rest.
func Without(list, others []Endpoint) []Endpoint {
	taken := map[string]bool{}
	for i := range others {
		for _, route := range others[i].Routes() {
			taken[others[i].Method()+route] = true
		}
	}
	list = slices.Clone(list)
	for i := range list {
		e := &list[i]
		if e.Route == "" {
			e.lost = map[string]bool{}
			for _, route := range e.Routes() {
				if taken[e.Method()+route] {
					e.lost[route] = true
				}
			}
		}
	}
	return list
}

// In are the parameters in the query, path or header.
func (e *Endpoint) In(where string) (list []*Spec) {
	for _, p := range e.Params {
		if s := p.Is(); s.In == where {
			list = append(list, s)
		}
	}
	return list
}

// Ready computes Query once for all requests. It is called before the endpoint is served.
func (e *Endpoint) Ready() { e.query = e.Query() }

// Query returns the parameters that a query may have. It must not be changed.
func (e *Endpoint) Query() *Query {
	if e.query != nil {
		return e.query
	}
	return &Query{Names: names(e.In(InQuery)), Any: e.Loose, Others: e.Filters}
}

// LineQuery returns the parameters that a line of the body may have.
func (e *Endpoint) LineQuery() *Query {
	lines := Endpoint{Params: e.Lines}
	return lines.Query()
}

func names(list []*Spec) (all []string) {
	for _, s := range list {
		if s.Name != everyOther {
			all = append(all, s.Name)
		}
	}
	return all
}

// ErrDeclaration is matched by every error of Check.
var ErrDeclaration = errors.New("declaration of an endpoint is not valid")

// Check finds declarations that contradict themselves or each other. known reports whether
// a type of problem exists. The error names the endpoint.
func Check(all []Endpoint, known func(problem string) bool) error {
	taken := map[string]string{}
	for i := range all {
		e := &all[i]
		bad := func(format string, args ...any) error {
			return fmt.Errorf("%w: %s %s (%s): %s", ErrDeclaration, e.Method(), e.Path, e.ID, fmt.Sprintf(format, args...))
		}
		if e.Handle != nil && e.Cost == 0 {
			return bad("it has no class of cost")
		}
		if e.Handle != nil {
			for _, route := range e.Routes() {
				for _, m := range e.Offered() {
					if other := taken[m+" "+route]; other != "" {
						return bad("%s answers at the same path", other)
					}
					taken[m+" "+route] = e.ID
				}
			}
		}
		if e.Hidden {
			continue
		}
		if !ids.MatchString(e.ID) {
			return bad("the id must be 1 to 64 letters, digits, _ and -")
		}
		if other := taken[e.ID]; other != "" {
			return bad("%s has the same id", other)
		}
		taken[e.ID] = e.Path
		for _, typ := range e.Problems {
			if !known(typ) {
				return bad("there is no problem of type %q", typ)
			}
		}
		if err := e.checkParams(); err != nil {
			return bad("%s", err)
		}
	}
	return nil
}

func (e *Endpoint) checkParams() error {
	seen := map[string]bool{}
	for _, p := range e.Params {
		s := p.Is()
		if seen[s.In+s.Name] {
			return fmt.Errorf("parameter %s is declared twice", s.Name)
		}
		seen[s.In+s.Name] = true
		if s.In == InPath && !strings.Contains(e.Path, "{"+s.Name+"}") {
			return fmt.Errorf("the path has no parameter %s", s.Name)
		}
		if text, ok := s.absentText(); ok {
			if err := e.refusal(url.Values{s.Name: {text}}, p); err != nil {
				return fmt.Errorf("the default of %s is refused: %w", s.Name, err)
			}
		}
	}
	for _, m := range braces.FindAllStringSubmatch(e.Path, -1) {
		if !seen[InPath+m[1]] {
			return fmt.Errorf("parameter %s of the path is not declared", m[1])
		}
	}
	_, query, _ := strings.Cut(e.Example.Request, "?")
	if err := e.Query().Check(query); err != nil {
		return fmt.Errorf("the example is refused: %w", err)
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return fmt.Errorf("the example is refused: %w", err)
	}
	for _, p := range e.Params {
		if s := p.Is(); s.In == InQuery && len(values[s.Name]) > 0 {
			if err := e.refusal(values, p); err != nil {
				return fmt.Errorf("the example is refused: %w", err)
			}
		}
	}
	return nil
}

// refusal returns the error with which p refuses its value among values, nil if it accepts it.
func (e *Endpoint) refusal(values url.Values, p Param) error {
	q := Params{of: e, values: values}
	p.try(&q)
	return q.Err
}
