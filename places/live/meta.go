package live

import (
	"encoding/json"
	"errors"
	"time"

	"quadrille/cellstore"
	"quadrille/feature"
)

// Meta describes a collection.
type Meta struct {
	SchemaVersion int `json:"schema_version"`
	// Name is the collection's name, see CheckName.
	Name string `json:"name"`
	// Schema are the known properties, by name.
	Schema feature.Schema `json:"schema"`
	// Points and Bounds (west, south, east, north in degrees) are set for a published
	// collection.
	Points int64      `json:"points,omitempty"`
	Bounds [4]float64 `json:"bounds,omitzero"`
	// Expiring is set if points of a published collection expire.
	Expiring bool `json:"expiring,omitempty"`
	// Title, Attribution and Licence are shown to everybody who may read the collection.
	Title       string `json:"title,omitempty"`
	Attribution string `json:"attribution,omitempty"`
	Licence     string `json:"licence,omitempty"`
	// EventRetention is the time for which a live collection keeps its moves for followers.
	EventRetention Duration `json:"events,omitzero"`
	// Private collections are shown only to those who may read them.
	Private bool `json:"private,omitempty"`
	// Search includes the names of a published collection in searches of all names.
	Search bool `json:"search,omitempty"`
	// HistoryRetention is the time for which a live collection keeps the past of features.
	HistoryRetention Duration `json:"history,omitzero"`
	// Since is the start of a live collection's history, in milliseconds since 1970, if the history
	// began or became longer after the collection was made. See HistoryStart.
	Since int64 `json:"since,omitempty"`
}

// Duration is a time.Duration that is written as text, such as "30m".
type Duration time.Duration

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}

// ErrName is matched if no collection can have a name.
var ErrName = errors.New("name of a collection is not valid")

// MaxNameBytes bounds the name of a collection, in bytes.
const MaxNameBytes = 40

// CheckName returns an error that matches ErrName unless a collection can have the name: a name is
// a letter a to z followed by letters, digits, hyphens and underscores.
func CheckName(name string) error {
	ok := name != "" && len(name) <= MaxNameBytes && 'a' <= name[0] && name[0] <= 'z'
	for i := 0; ok && i < len(name); i++ {
		c := name[i]
		ok = 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_'
	}
	if !ok {
		return feature.Faultf(ErrName, "%.60q: give a letter a to z and then letters a to z, digits, hyphens and underscores, at most %d in all",
			name, MaxNameBytes)
	}
	return nil
}

// HistoryStart returns the earliest instant for which the history can answer queries at the instant
// now.
func (m *Meta) HistoryStart(now time.Time) time.Time {
	first := now.Add(-time.Duration(m.HistoryRetention))
	if since := time.UnixMilli(m.Since); first.Before(since) {
		return since
	}
	return first
}

// These are bounds of a description.
const (
	maxTitle = 1000 // bytes of each text
	// MaxHistory bounds the history, and the time for which events are kept.
	MaxHistory = Duration(400 * 24 * time.Hour)
	// DefaultEventRetention is the default of Meta.EventRetention.
	DefaultEventRetention = Duration(24 * time.Hour)
)

func checkMeta(m *Meta) error {
	for _, text := range []string{m.Title, m.Attribution, m.Licence} {
		if len(text) > maxTitle {
			return feature.Faultf(ErrInvalid, "a text of the description has %d bytes: give at most %d", len(text), maxTitle)
		}
	}
	if m.EventRetention == 0 {
		m.EventRetention = DefaultEventRetention
	}
	if m.HistoryRetention < 0 || m.HistoryRetention > MaxHistory || m.EventRetention < Duration(time.Second) ||
		m.EventRetention > MaxHistory {
		return feature.Faultf(ErrInvalid, "history and events: give a time such as 24h, at most %v", time.Duration(MaxHistory))
	}
	var err error
	m.Schema, err = feature.NewSchema(m.Schema)
	return err
}

// description is the stored description of a collection.
type description struct {
	Meta
	Declared       feature.Schema `json:"declared,omitempty"`
	RedrawProgress redraw         `json:"redraw,omitzero"`
}

// mutation writes the description.
func (m *description) mutation() cellstore.Mutation {
	b, _ := json.Marshal(m) // made of texts and numbers
	return metaRow([]byte{rowDescription}, b)
}
