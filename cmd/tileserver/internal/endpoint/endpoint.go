// Package endpoint declares the endpoints of the HTTP interface. One declaration contains
// everything: path, parameters, answers, problems, cost and handler. From it follow the reading and
// refusal of parameters, admission, OPTIONS, the description of the interface, and its tests.
// Package web serves endpoints, and package apidoc describes them.
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

// Endpoint declares an endpoint. It must not change once it is served.
type Endpoint struct {
	// Path has its parameters in braces; {path} at its end matches the whole rest. OtherPaths are further
	// paths with the same answers.
	Path       string
	OtherPaths []string
	// Route is the router's pattern if it differs from Path. A part of a path that holds
	// several parameters is one parameter to the router.
	Route string
	// Methods default to GET, which includes HEAD. Any means every method, also those that
	// the router does not know.
	Methods []string
	Any     bool

	// ID is the operationId: letters, digits, _ and -. Tag is the group in the description. Rank is
	// the position in the group, lower ranks first; endpoints with equal ranks are ordered by path.
	ID, Tag string
	Rank    int
	Summary string
	// Doc is Markdown. Only its empty lines and backquotes have a meaning.
	Doc string
	// DocsURL is the address of the documentation of the service that the endpoint imitates.
	DocsURL string
	// Hidden endpoints are not described: they are the same as a described endpoint, but at the
	// root, or they are part of a page.
	Hidden bool
	// Admin is set if the endpoint is on the operator's own listener alone.
	Admin bool

	// Params are the parameters that requests may have, parameters of the path first.
	Params []Param
	// IgnoresOthers is set if other parameters are ignored, and TakesFilters if the handler checks them with
	// [Params.ExtraParams].
	IgnoresOthers, TakesFilters bool
	// Lines are the parameters that a line of the body may have.
	Lines []Param

	// Handle answers a request. It is nil if another endpoint of the same Route answers.
	Handle Handler
	Cost   Cost
	Keys   KeyRule
	// ChecksScope is set if GET checks the scope of the key. Other methods may do so if it is not set.
	ChecksScope bool
	// Body is set if the endpoint reads a body, or tolerates one, and bounds it itself. BodyContent has
	// its media types with their content. BodyRequired is set if there must be a body.
	Body         bool
	BodyContent  Content
	BodyRequired bool
	// Layer is the layer with whose name the path begins, if it begins so for that alone.
	Layer string
	// Label is the name of the endpoint in metrics; "" means its route.
	Label string
	// Refuse answers a request that is refused before it is handled, in the format of the service
	// that the endpoint imitates. Nil means our own format.
	Refuse func(c echo.Context, err error)

	// Answers are the possible contents of a 200. Empty says when the answer is a 204 instead;
	// "" means never.
	Answers     Content
	Empty       string
	CachePolicy CachePolicy
	// Headers are further headers of a 200, by their names in package apidoc.
	Headers []string
	// Problems are the types of errors. dataset-missing includes the types for a data set that
	// cannot be read. The types of every request are always included.
	Problems []string
	// OtherAnswers are further answers.
	OtherAnswers []OtherAnswer

	// lost has the routes of this endpoint that another endpoint answers.
	lost map[string]bool
	// query is ParamNames, once the endpoint is served.
	query *ParamNames

	// Example is a request, relative to the server. It must have a good answer from the demo's data
	// and from the data of TestExamples.
	Example Example
}

// AddedEndpoints are endpoints of a face R that files of their own declare:
//
//	var _ = added.Add(func(s *Handlers) endpoint.Endpoint { return endpoint.Endpoint{…} })
type AddedEndpoints[R any] []func(R) Endpoint

// Add adds an endpoint. Its result exists only so that it can be assigned to a variable of the
// package.
func (a *AddedEndpoints[R]) Add(declare func(R) Endpoint) bool {
	*a = append(*a, declare)
	return true
}

// AppendTo returns list followed by the endpoints that were added.
func (a AddedEndpoints[R]) AppendTo(handlers R, list ...Endpoint) []Endpoint {
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

// OtherAnswer is an answer with a status other than 200.
type OtherAnswer struct {
	Status  int
	Text    string
	Content Content
	Headers []string
}

// RefusedAnswers returns answers with the same content, one for each status.
func RefusedAnswers(content Content, texts map[int]string) (list []OtherAnswer) {
	for _, status := range slices.Sorted(maps.Keys(texts)) {
		list = append(list, OtherAnswer{Status: status, Text: texts[status], Content: content})
	}
	return list
}

// Example is a request and, for a POST, its body. Note explains it.
type Example struct{ Request, Body, Note string }

// Cost is the class of an endpoint by the work of its most expensive request. TestCosts of package
// httpapi measures this work. The class decides which of the places of --max-concurrent a request
// takes.
type Cost uint8

const (
	// Light requests take at most 20 ms of processor time, whatever their parameters are.
	Light Cost = iota + 1
	// Heavy requests may take more. They share a quarter of the places, so that tiles and lookups
	// still get answers when heavy requests are at their limit.
	Heavy
	// Mixed requests are usually light. When the handler detects that a request is heavy, it takes
	// a heavy place for it.
	Mixed
	// Streamed requests run for as long as their client sends lines.
	Streamed
	// LongLived requests are answered for as long as their client listens, and need hardly any work.
	// They have separate places, of which each client address gets a few.
	LongLived
	// Vital requests take no place: they are needed most when the service is at
	// its limit.
	Vital
)

// KeyRule is the rule for the use of API keys at an endpoint.
type KeyRule uint8

const (
	// KeysRequired admits only requests with a key, if the server requires keys, and counts them
	// against a limit.
	KeysRequired KeyRule = iota
	// KeysIgnored admits all requests and does not count them against a limit. It is for endpoints
	// for monitoring, and for the files of the map page.
	KeysIgnored
	// KeysByHandler leaves the check of the key to the handler, and does not count requests against a
	// limit.
	KeysByHandler
	// KeysByUsername means that the parameter username is the key.
	KeysByUsername
	// KeysOfProxy reads the key only from our own header, because other credentials of the request
	// are for another service.
	KeysOfProxy
	// KeysOfOthers means that the endpoint checks its own kind of keys, and that the server's keys
	// are ignored.
	KeysOfOthers
)

// CachePolicy says how answers may be cached, which decides their headers.
type CachePolicy string

// These are the ways of caching answers.
const (
	CacheTagged    CachePolicy = "tagged"  // with an entity tag
	CacheByInstant CachePolicy = "instant" // with a tag if the parameter at is given, and else not at all
	CacheVaries    CachePolicy = "varies"  // with a tag, except errors and answers that depend on the time
	CacheUntagged  CachePolicy = "plain"   // without an entity tag
	CacheFile      CachePolicy = "file"    // as files of the map page are
	CacheNever     CachePolicy = "never"
	CacheAdmin     CachePolicy = "admin" // never, and not to be read by pages of other origins
)

// Revalidated reports whether a client can get a 304.
func (k CachePolicy) Revalidated() bool {
	return slices.Contains([]CachePolicy{CacheTagged, CacheByInstant, CacheVaries, CacheFile}, k)
}

// OfferedMethods returns the declared methods.
func (e *Endpoint) OfferedMethods() []string {
	if e.Methods == nil {
		return []string{http.MethodGet, http.MethodHead}
	}
	return e.Methods
}

// Method returns the first method.
func (e *Endpoint) Method() string { return e.OfferedMethods()[0] }

// Paths returns Path and OtherPaths as one list.
func (e *Endpoint) Paths() []string { return append([]string{e.Path}, e.OtherPaths...) }

// Routes returns the router's patterns of all paths.
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

// AtRoot returns copies of endpoints with below removed from the beginning of their paths. The
// copies are hidden, because the originals are already described.
func AtRoot(list []Endpoint, below string) []Endpoint {
	list = slices.Clone(list)
	for i := range list {
		e := &list[i]
		e.Path, e.OtherPaths, e.Hidden = strings.TrimPrefix(e.Path, below), slices.Clone(e.OtherPaths), true
		for j := range e.OtherPaths {
			e.OtherPaths[j] = strings.TrimPrefix(e.OtherPaths[j], below)
		}
	}
	return list
}

// Without returns the endpoints of list without the paths of the endpoints in others. An endpoint
// that loses paths is still described, and answers at its remaining paths.
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

// ParamsIn returns the parameters in the query, path or header.
func (e *Endpoint) ParamsIn(where string) (list []*Spec) {
	for _, p := range e.Params {
		if s := p.Declaration(); s.In == where {
			list = append(list, s)
		}
	}
	return list
}

// Prepare computes ParamNames once for all requests. It is called before the endpoint is served.
func (e *Endpoint) Prepare() { e.query = e.ParamNames() }

// ParamNames returns the parameters that a query may have. It must not be changed.
func (e *Endpoint) ParamNames() *ParamNames {
	if e.query != nil {
		return e.query
	}
	return &ParamNames{Names: names(e.ParamsIn(InQuery)), AnyName: e.IgnoresOthers, ExtraNames: e.TakesFilters}
}

// LineParamNames returns the parameters that a line of the body may have.
func (e *Endpoint) LineParamNames() *ParamNames {
	lines := Endpoint{Params: e.Lines}
	return lines.ParamNames()
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

// Check returns an error about declarations that contradict themselves or each other. known reports
// whether a type of problem exists. The error names the endpoint.
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
				for _, m := range e.OfferedMethods() {
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
		s := p.Declaration()
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
	if err := e.ParamNames().Check(query); err != nil {
		return fmt.Errorf("the example is refused: %w", err)
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return fmt.Errorf("the example is refused: %w", err)
	}
	for _, p := range e.Params {
		if s := p.Declaration(); s.In == InQuery && len(values[s.Name]) > 0 {
			if err := e.refusal(values, p); err != nil {
				return fmt.Errorf("the example is refused: %w", err)
			}
		}
	}
	return nil
}

// refusal returns the error with which p refuses its value among values, or nil if p accepts it.
func (e *Endpoint) refusal(values url.Values, p Param) error {
	q := Params{of: e, values: values}
	p.try(&q)
	return q.Err
}
