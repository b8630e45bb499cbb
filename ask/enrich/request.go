package enrich

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"quadrille/ask"
	"quadrille/ask/localtime"
)

// Request asks for columns in the texts of a user. The zero Request asks for the regions of all types. In Geocode, Nearest
// and IP, a name with a comma or a colon stands in double quotes, as in CSV.
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
	// MemoBytes bounds the memory for what neighbours share in all of Nearest. 0 means 128 MiB for each.
	MemoBytes int
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

// SplitNearest does the reverse of what Query does with Nearest. A separator in quotes is part of a name.
func SplitNearest(text string) (list []string) {
	quoted, from := false, 0
	for i := range len(text) {
		switch {
		case text[i] == '"':
			quoted = !quoted
		case text[i] == nearestSeparator[0] && !quoted:
			list, from = append(list, text[from:i]), i+1
		}
	}
	return append(list, text[from:])
}

// maxGeocode bounds the columns of Geocode.
const maxGeocode = 20

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

// Errors returns the errors that an error of Plan joins.
func Errors(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

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

// Plan returns the plan of the request. Its errors, which Errors takes apart, are *MemberErrors, or one
// that matches ErrRequest if two members add the same column; those about data sets that are not published match ask.ErrMissing.
func (r *Request) Plan(v ask.View) (*Plan, error) {
	var sources []Source
	var all []error
	add := func(member string, of Source, err error) {
		if err != nil {
			all = append(all, &MemberError{member, err})
			return
		}
		sources = append(sources, of)
	}
	if r.Locates() {
		columns, err := splitNames(strings.Join(r.Geocode, ","))
		var of Source
		switch {
		case err != nil:
		case len(columns) == 0 || len(columns) > maxGeocode:
			err = badRequest("name 1 to %d columns of the table", maxGeocode)
		default:
			of, err = Geocode(v, columns...)
		}
		add(GeocodeMember, of, err)
	}
	if r.wantsRegions() {
		types, none := r.Regions, false
		if slices.Contains(types, "all") || len(types) == 0 {
			types, none = r.allTypes(v)
		}
		if !none {
			of, err := Regions(v, types...)
			add(RegionsMember, of, err)
		}
	}
	if r.TimeZone || r.Time != "" {
		of, err := TimeZone(v, r.Time)
		add(TimeZoneMember, of, err)
	}
	for _, text := range r.Nearest {
		of, err := r.nearest(v, text)
		add(NearestMember, of, err)
	}
	if r.Reverse {
		of, err := Reverse(v)
		add(ReverseMember, of, err)
	}
	if r.IP != "" {
		column, fields, err := splitFields(r.IP)
		var of Source
		if err == nil {
			of, err = IP(v, column, fields...)
		}
		add(IPMember, of, err)
	}
	if all != nil {
		return nil, errors.Join(all...)
	}
	return New(sources...)
}

// allTypes returns the types for Regions where all are wanted. Time zones are left out if they are added already, because
// their columns have the same name; none is set if that leaves nothing.
func (r *Request) allTypes(v ask.View) (types []string, none bool) {
	if !r.TimeZone && r.Time == "" {
		return nil, false
	}
	all := v.Boundaries.Types()
	for _, t := range all {
		if t.Name != localtime.TimeZoneType && !t.IsLines {
			types = append(types, t.Name)
		}
	}
	return types, len(types) == 0 && len(all) > 0
}

func (r *Request) nearest(v ask.View, text string) (Source, error) {
	if len(SplitNearest(text)) > 1 { // would be two layers in a query
		return nil, badRequest("%s: write a name with %s in double quotes", text, nearestSeparator)
	}
	collection, isCollection := strings.CutPrefix(text, ask.PointsPrefix)
	layer, fields, err := splitFields(collection)
	switch {
	case err != nil:
		return nil, err
	case layer == "":
		return nil, badRequest("name a layer before its fields, such as airport:iata,distance_m")
	case isCollection:
		layer = ask.PointsPrefix + layer
	}
	find, memoBytes := v.Layer, maxMemoBytes
	if r.PublicOnly {
		find = v.PublicLayer
	}
	if r.MemoBytes > 0 {
		memoBytes = r.MemoBytes / 2 / len(r.Nearest)
	}
	return nearest(v, find, layer, fields, memoBytes)
}

// splitFields splits NAME:FIELD,FIELD. The last colon counts, so that a name may have others. With one in double
// quotes, as in CSV, a name or a field may have any text.
func splitFields(text string) (name string, fields []string, err error) {
	if strings.HasPrefix(text, `"`) {
		name, rest, err := cutQuoted(text)
		if err != nil || rest == "" {
			return name, nil, err
		}
		list, ok := strings.CutPrefix(rest, ":")
		if !ok {
			return "", nil, badRequest("%q: there is %q after the quotes where :FIELDS should be", text, rest)
		}
		fields, err = splitNames(list)
		return name, fields, err
	}
	end := strings.LastIndexByte(text, ':')
	if end < 0 {
		return text, nil, nil
	}
	for at := end; at >= 0; at = strings.LastIndexByte(text[:at], ':') {
		if fields, err := splitNames(text[at+1:]); err == nil {
			return text[:at], fields, nil // this colon is not within quotes
		}
	}
	_, err = splitNames(text[end+1:])
	return "", nil, err
}

// splitNames splits NAME,NAME. Blanks around names are left out, and so are empty names.
func splitNames(text string) (names []string, err error) {
	for {
		text = strings.TrimSpace(text)
		var name string
		if strings.HasPrefix(text, `"`) {
			if name, text, err = cutQuoted(text); err != nil {
				return nil, err
			}
			if text = strings.TrimSpace(text); text != "" && text[0] != ',' {
				return nil, badRequest("there is %q after quotes where a comma should be", text)
			}
		} else {
			end := strings.IndexByte(text, ',')
			if end < 0 {
				end = len(text)
			}
			if name, text = strings.TrimSpace(text[:end]), text[end:]; strings.Contains(name, `"`) {
				return nil, badRequest("%s: write a name with quotes as in CSV, \"%s\"", name, strings.ReplaceAll(name, `"`, `""`))
			}
		}
		if name != "" {
			names = append(names, name)
		}
		if text == "" {
			return names, nil
		}
		text = text[1:]
	}
}

// cutQuoted cuts a text in double quotes off, within which two of them are one.
func cutQuoted(text string) (inner, rest string, err error) {
	for at := 1; at < len(text); at++ {
		switch {
		case text[at] != '"':
		case at+1 < len(text) && text[at+1] == '"':
			at++
		default:
			return strings.ReplaceAll(text[1:at], `""`, `"`), text[at+1:], nil
		}
	}
	return "", "", badRequest("%s: the quotes are not closed", text)
}
