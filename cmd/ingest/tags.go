package main

import "quadrille/cmd/ingest/internal/source/osm"

// tagged has the flag for data of OpenStreetMap.
type tagged struct {
	Tags tagsFlag `env:"-" placeholder:"KEY=VALUE,…" help:"Of data of OpenStreetMap, the elements that have all these tags: KEY=VALUE, KEY=ONE|OTHER or KEY alone. FILE#KEY=VALUE,… says it for one file."`
}

// tagsFlag has conditions of elements.
type tagsFlag struct{ all []osm.Tag }

// UnmarshalText implements encoding.TextUnmarshaler. Nothing is no condition, as a printed file of settings has it.
func (t *tagsFlag) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		return nil
	}
	t.all, err = osm.ParseTags(string(text))
	return err
}

// MarshalText implements encoding.TextMarshaler.
func (t tagsFlag) MarshalText() ([]byte, error) { return []byte(osm.FormatTags(t.all)), nil }
