package collection

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/internal/instant"
	"quadrille/places/live"
	"quadrille/places/points"
	"quadrille/quadkey"
)

// form is the format of the JSON of a write.
type form uint8

const (
	formFeature form = iota // a GeoJSON Feature, which replaces a point
	formPatch               // members that are to be changed
	formMerge               // a merge patch of RFC 7396 for the Feature of a point
	formLine                // a Feature, or an id with delete or patch
)

// maxTTL is the longest time in seconds until a point expires: 100 years.
const maxTTL = 100 * 366 * 24 * 60 * 60

// These bits record which members a write has.
const (
	memberType = 1 << iota
	memberID
	memberGeometry
	memberProperties
	memberExpires
	memberTTL
	memberDelete
	memberPatch
	memberIfMatch
	memberIfNoneMatch
)

var members = map[string]uint{
	"type": memberType, "id": memberID, "geometry": memberGeometry, "properties": memberProperties,
	"expires": memberExpires, "ttl": memberTTL, "delete": memberDelete, "patch": memberPatch,
	"if_match": memberIfMatch, "if_none_match": memberIfNoneMatch,
}

// readChange reads JSON into a write, which refers to parts of text afterwards. A ttl counts from
// now. ignored is the first member that gives a time, or "" if there is none. It is ignored because
// the server sets the time of a write.
func readChange(text []byte, f form, now time.Time, w *live.Write) (ignored string, err error) {
	if !utf8.Valid(text) {
		return "", refusePoint("Write the JSON in UTF-8.")
	}
	r := changeReader{now: now, w: w, patching: f == formPatch}
	w.MergePatch = f == formMerge
	if err := r.object(text, f); err != nil {
		return "", err
	}
	if f == formLine {
		return r.ignored, r.line()
	}
	return r.ignored, r.check(f)
}

type changeReader struct {
	now   time.Time
	w     *live.Write
	seen  uint
	patch []byte
	other string // a member that is not known
	// foreigner describes the objects that have such a member, or "" for an unknown member.
	foreigner string
	// ignored is the first member that gives a time.
	ignored string
	// patching is set if the members are changes to an existing point.
	patching bool

	conditions http.Header // the conditions that a line has as members
}

func (r *changeReader) object(text []byte, f form) error {
	for o := (objectReader{in: text}); ; {
		name, value, more, err := o.next()
		if err != nil || !more {
			return err
		}
		member := members[string(name)]
		switch {
		case member == 0 || member >= memberDelete && f != formLine:
			// Features may have foreign members; a patch is our own format.
			if f == formPatch || f == formMerge {
				return refusePoint("Unknown member " + strconv.Quote(shorten(name)) + ": a change has geometry, properties, expires or ttl.")
			}
			if member >= memberIfMatch {
				return refusePoint("Send " + string(name) + " as a header: If-Match or If-None-Match.")
			}
			if !json.Valid(value) {
				return syntaxError("a value", o.i-len(value))
			}
			if r.other = shorten(name); r.foreigner == "" {
				r.foreigner = foreigners[r.other]
			}
			if r.ignored == "" && givesTime(name, value) {
				r.ignored = r.other
			}
			continue
		case r.seen&member != 0:
			return refusePoint("Give " + string(name) + " once.")
		}
		r.seen |= member
		if err := r.member(member, value); err != nil {
			return err
		}
	}
}

// givesTime reports whether a foreign member of a Feature gives its time, by its name or its value.
func givesTime(name, value []byte) bool {
	if slices.Contains(timeMembers, string(name)) {
		return string(value) != "null"
	}
	text, ok := textOf(value)
	if !ok {
		return false
	}
	_, ok = instant.Parse(text)
	return ok
}

// timeMembers lists the usual names for the time of a Feature.
var timeMembers = []string{"time", "timestamp", "datetime", "when"}

// shorten returns the beginning of a name for a refusal.
func shorten(name []byte) string { return string(name[:min(len(name), 40)]) }

func (r *changeReader) member(member uint, value []byte) error {
	w, null := r.w, string(value) == "null"
	switch member {
	case memberType:
		if text, _ := textOf(value); string(text) != "Feature" {
			return refusePoint(`Set type to "Feature", and send each Feature of a collection by itself or in a line of its own.`)
		}
	case memberID:
		if text, ok := textOf(value); ok {
			w.ID = string(text)
		} else if _, ok := numberOf(value); ok {
			w.ID = string(value)
		} else {
			return refusePoint("Set id to a text or a number.")
		}
		return points.CheckID(w.ID)
	case memberGeometry:
		var err error
		w.Move, err = readPosition(value, &w.Lat, &w.Lon, w.MergePatch)
		return err
	case memberProperties:
		if w.Properties = value; null && r.patching && !w.MergePatch {
			return refusePoint("Set properties to an object, whose members that are null are removed. All are removed by null " +
				"as application/merge-patch+json.")
		}
	case memberExpires:
		if null {
			return r.expire(time.Time{})
		}
		text, _ := textOf(value)
		return r.expireAt(string(text))
	case memberTTL:
		seconds, ok := numberOf(value)
		if !ok && !null {
			return errTTL
		}
		if null {
			return r.expire(time.Time{})
		}
		return r.live(seconds)
	case memberDelete:
		if string(value) != "true" {
			return refusePoint("Set delete to true, or leave it out.")
		}
	case memberPatch:
		r.patch = value
	case memberIfMatch, memberIfNoneMatch:
		header := map[uint]string{memberIfMatch: "If-Match", memberIfNoneMatch: "If-None-Match"}[member]
		text, ok := textOf(value)
		if !ok {
			return refusePoint("Set " + strings.ReplaceAll(strings.ToLower(header), "-", "_") +
				` to a text, as in the header: "\"v1767225600000\"".`)
		}
		if r.conditions == nil {
			r.conditions = http.Header{}
		}
		r.conditions.Set(header, string(text))
	}
	return nil
}

var (
	errExpires = refusePoint("Set expires to a time after 1970 such as 2026-07-01T12:00:00Z; null in the body is never.")
	errTTL     = refusePoint("Set ttl to the number of seconds until the point goes, more than 0 and at most " +
		strconv.FormatInt(maxTTL, 10) + "; null is never.")
	errBoth = refusePoint("Give expires or ttl, not both.")
)

// expireAt reads the time at which the point expires.
func (r *changeReader) expireAt(text string) error {
	at, err := points.ParseExpires(text)
	if err != nil {
		return errExpires
	}
	return r.expire(at)
}

// expire sets the time at which the point expires, the zero time for never.
func (r *changeReader) expire(at time.Time) error {
	if r.w.SetExpires {
		return errBoth
	}
	r.w.SetExpires, r.w.Expires = true, at
	return nil
}

// live sets the point's lifetime.
func (r *changeReader) live(seconds float64) error {
	if !(seconds > 0 && seconds <= maxTTL) {
		return errTTL
	}
	return r.expire(r.now.Add(time.Duration(seconds * float64(time.Second))))
}

// line determines the kind of write in a line.
func (r *changeReader) line() error {
	const others = memberType | memberGeometry | memberProperties | memberExpires | memberTTL
	if r.seen&(memberType|memberGeometry|memberDelete|memberPatch) == 0 {
		return refusePoint(r.foreign() + "Write a Feature with an id in each line, such as " + sampleLine)
	}
	if r.w.ID == "" {
		return refusePoint("Add id, which every line needs.")
	}
	switch r.seen & (memberDelete | memberPatch) {
	case 0:
		if err := readConditions(r.conditions, live.Put, r.w); err != nil {
			return err
		}
		return r.check(formFeature)
	case memberDelete:
		r.w.Kind = live.Delete
	case memberPatch:
		r.w.Kind = live.Patch
	}
	if r.seen&others != 0 || r.other != "" || r.seen&memberDelete != 0 && r.seen&memberPatch != 0 {
		return refusePoint(`Write {"id":…,"delete":true} or {"id":…,"patch":{…}} without other members but if_match.`)
	}
	if err := readConditions(r.conditions, r.w.Kind, r.w); err != nil {
		return err
	}
	if r.w.Kind == live.Delete {
		return nil
	}
	id := r.w.ID
	r.seen, r.patching = 0, true
	if err := r.object(r.patch, formPatch); err != nil {
		return err
	}
	if r.w.ID != id {
		return errOtherID
	}
	return r.check(formPatch)
}

// sampleLine is an example of a line of a batch.
const sampleLine = `{"type":"Feature","id":"v1","geometry":{"type":"Point","coordinates":[8.54,47.37]},"properties":{}}.`

// foreigners describes objects of other programs, by a member that only they have.
var foreigners = map[string]string{
	"_type":     "an object of OwnTracks",
	"device_id": "a position of a Traccar client", "deviceId": "a position of Traccar",
	"index":     "an action of an Elasticsearch bulk",
	"create":    "an action of an Elasticsearch bulk",
	"update":    "an action of an Elasticsearch bulk",
	"locations": "a list of positions of a tracker",
	"lat":       "an object with lat and lon", "latitude": "an object with latitude and longitude",
}

// foreign returns the beginning of the refusal of an object that is not a write.
func (r *changeReader) foreign() string {
	if r.foreigner == "" {
		return ""
	}
	return "This is " + r.foreigner + ", and no write. "
}

var noProperties = []byte("{}")

var errOtherID = refusePoint("Leave the id out here, or make the two ids the same.")

// check sets the kind of the write, and refuses one that lacks a member.
func (r *changeReader) check(f form) error {
	if f == formPatch || f == formMerge {
		r.w.Kind = live.Patch
		if f == formPatch && r.seen&(memberGeometry|memberProperties|memberExpires|memberTTL) == 0 && !r.w.SetExpires {
			return refusePoint("Add what is to be changed: geometry, properties, expires or ttl.")
		}
		return nil
	}
	r.w.Kind = live.Put
	if r.seen&memberType == 0 || r.seen&memberGeometry == 0 {
		return refusePoint(r.foreign() +
			`Write a GeoJSON Feature, such as {"type":"Feature","id":"a1","geometry":{"type":"Point","coordinates":[2.35,48.85]},"properties":{"name":"x"}}.`)
	}
	if r.w.Properties == nil {
		r.w.Properties = noProperties
	}
	return nil
}

// errGeometry is the error for a geometry that is not a GeoJSON Point.
var errGeometry = refusePoint(`Set geometry to a Point, such as {"type":"Point","coordinates":[2.35,48.85]}: longitude, then latitude, in degrees.`)

// readPosition reads a GeoJSON Point, or those of its members that a merge patch changes. It
// reports whether there is a position. Altitudes are ignored.
func readPosition(value []byte, lat, lon *float64, merge bool) (there bool, err error) {
	var seen uint
	if value[0] != '{' {
		return false, errGeometry
	}
	for o := (objectReader{in: value}); ; {
		name, value, more, err := o.next()
		if err != nil {
			return false, err
		}
		if !more {
			break
		}
		switch string(name) {
		case "type":
			if text, _ := textOf(value); seen&1 != 0 || string(text) != "Point" {
				return false, errGeometry
			}
			seen |= 1
		case "coordinates":
			if seen&2 != 0 || !readCoordinates(value, lat, lon) {
				return false, errGeometry
			}
			seen |= 2
		default:
			if !json.Valid(value) {
				return false, errGeometry
			}
		}
	}
	if seen != 3 && !merge {
		return false, errGeometry
	}
	if seen&2 == 0 {
		return false, nil
	}
	return true, points.CheckPosition(*lat, *lon)
}

// readCoordinates reads a list of two or three numbers.
func readCoordinates(value []byte, lat, lon *float64) bool {
	if value[0] != '[' {
		return false
	}
	o := objectReader{in: value, i: 1}
	for n := 0; ; n++ {
		o.space()
		v, ok := numberOf(o.value())
		if !ok {
			return false
		}
		switch n {
		case 0:
			*lon = v
		case 1:
			*lat = v
		}
		c := o.space()
		o.i++
		switch {
		case c == ']' && o.i == len(value):
			return n == 1 || n == 2
		case c != ',' || n == 2:
			return false
		}
	}
}

// readLifetime reads the parameters expires and ttl into a write, if the body has neither of them.
func readLifetime(q *endpoint.Params, now time.Time, w *live.Write) error {
	change := changeReader{now: now, w: w}
	for _, name := range [...]string{"expires", "ttl"} {
		if !q.Has(name) {
			continue
		}
		text := q.Text(name, 64)
		if q.Err != nil {
			return q.Err
		}
		var err error
		if name == "expires" {
			err = change.expireAt(text)
		} else if seconds, ok := quadkey.ParseNumber(text); ok {
			err = change.live(seconds)
		} else {
			err = errTTL
		}
		if err != nil {
			q.Refuse(name, endpoint.DetailOf(err))
			return q.Err
		}
	}
	return nil
}
