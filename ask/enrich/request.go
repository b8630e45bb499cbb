package enrich

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"quadrille/ask"
	"quadrille/ask/localtime"
)

// Request asks for columns in the texts of a user. The zero Request asks for the regions of all types.
type Request struct {
	Geocode  []string // columns of the table
	Regions  []string // types; all for every type, which leaves out time zones with TimeZone or Time
	TimeZone bool
	Time     string   // a column of the table
	Nearest  []string // LAYER:FIELD,FIELD or LAYER, each
	Reverse  bool
	IP       string // COLUMN:FIELD,FIELD or COLUMN
	// PublicOnly is set for users who may not read private layers, which do not exist for them.
	PublicOnly bool
}

// These are the names of the members of a Request for users.
const (
	GeocodeMember  = "geocode"
	RegionsMember  = "regions"
	TimeZoneMember = "timezone"
	TimeMember     = "time"
	NearestMember  = "nearest"
	ReverseMember  = "reverse"
	IPMember       = "ip"
)

// nearestSeparator stands between layers in a query.
const nearestSeparator = "|"

// SplitNearest splits the parameter of a query that Query makes of Nearest.
func SplitNearest(text string) []string { return strings.Split(text, nearestSeparator) }

// Query returns the request as the parameters of a query, by the names of its members.
func (r *Request) Query() url.Values {
	q := url.Values{}
	for name, text := range map[string]string{
		GeocodeMember: strings.Join(r.Geocode, ","),
		RegionsMember: strings.Join(r.Regions, ","),
		TimeMember:    r.Time,
		NearestMember: strings.Join(r.Nearest, nearestSeparator),
		IPMember:      r.IP,
	} {
		if text != "" {
			q.Set(name, text)
		}
	}
	for name, set := range map[string]bool{TimeZoneMember: r.TimeZone, ReverseMember: r.Reverse} {
		if set {
			q.Set(name, "true")
		}
	}
	return q
}

// MemberError says that a member of a Request cannot be answered.
type MemberError struct {
	Member string // such as NearestMember
	Err    error
}

func (e *MemberError) Error() string { return e.Member + ": " + e.Err.Error() }

func (e *MemberError) Unwrap() error { return e.Err }

// NeedsPosition reports whether some column depends on the positions of rows. They may come from
// Geocode.
func (r *Request) NeedsPosition() bool {
	return r.wantsRegions() || r.TimeZone || r.Time != "" || len(r.Nearest) > 0 || r.Reverse
}

// Locates reports whether rows without a position get one.
func (r *Request) Locates() bool { return len(r.Geocode) > 0 }

// wantsRegions reports whether regions are added: if they are asked for, or nothing is.
func (r *Request) wantsRegions() bool {
	return len(r.Regions) > 0 ||
		!r.TimeZone && r.Time == "" && len(r.Nearest) == 0 && !r.Reverse && !r.Locates() && r.IP == ""
}

// Plan returns the plan of the request. Errors are *MemberErrors, joined if there are several; those
// about data sets that are not published match ask.ErrMissing.
func (r *Request) Plan(v ask.View) (*Plan, error) {
	var sources []Source
	var all error
	add := func(member string, of Source, err error) {
		if err != nil {
			all = errors.Join(all, &MemberError{member, err})
			return
		}
		sources = append(sources, of)
	}
	if r.Locates() {
		of, err := Geocode(v, r.Geocode...)
		add(GeocodeMember, of, err)
	}
	if r.wantsRegions() {
		types := r.Regions
		if slices.Contains(types, "all") || len(types) == 0 {
			types = r.allTypes(v)
		}
		of, err := Regions(v, types...)
		add(RegionsMember, of, err)
	}
	if r.TimeZone || r.Time != "" {
		of, err := TimeZone(v, r.Time)
		add(TimeZoneMember, of, err)
	}
	for _, text := range r.Nearest {
		collection, isCollection := strings.CutPrefix(text, ask.PointsPrefix)
		layer, fields := splitFields(collection)
		if isCollection {
			layer = ask.PointsPrefix + layer
		}
		of, err := r.nearest(v, layer, fields)
		add(NearestMember, of, err)
	}
	if r.Reverse {
		of, err := Reverse(v)
		add(ReverseMember, of, err)
	}
	if r.IP != "" {
		column, fields := splitFields(r.IP)
		of, err := IP(v, column, fields...)
		add(IPMember, of, err)
	}
	if all != nil {
		return nil, all
	}
	return New(sources...)
}

// allTypes returns all types of regions, for Regions. Without the time zones if these are added already, because their
// columns have the same name.
func (r *Request) allTypes(v ask.View) (types []string) {
	if !r.TimeZone && r.Time == "" {
		return nil
	}
	for _, t := range v.Boundaries.Types() {
		if t.Name != localtime.TimeZoneType && !t.IsLines {
			types = append(types, t.Name)
		}
	}
	return types
}

func (r *Request) nearest(v ask.View, layer string, fields []string) (Source, error) {
	if layer == "" {
		return nil, badRequest("name a layer before its fields, such as airport:iata,distance_m")
	}
	if r.PublicOnly {
		return nearest(v, v.PublicLayer, layer, fields)
	}
	return Nearest(v, layer, fields...)
}

// splitFields splits NAME:FIELD,FIELD.
func splitFields(text string) (name string, fields []string) {
	i := strings.LastIndexByte(text, ':')
	if i < 0 {
		return text, nil
	}
	for f := range strings.SplitSeq(text[i+1:], ",") {
		if f = strings.TrimSpace(f); f != "" {
			fields = append(fields, f)
		}
	}
	return text[:i], fields
}
