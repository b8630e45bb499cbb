package ip

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/iprecord"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/zonefinder"
	"quadrille/feature"
	"quadrille/ipgeo"
	"quadrille/places"
	"quadrille/places/search"
	"quadrille/tiles"
)

// These are the names of fields that may be derived.
const (
	derivedCountry      = "country"
	derivedSubdivisions = "subdivisions"
	derivedTimeZone     = "location.time_zone"
)

// maxFilled bounds the number of coordinates whose derived fields are cached, because cities
// repeat.
const maxFilled = 1 << 17

// filler derives from coordinates the fields that a source omits: country and subdivision from the
// published boundaries, the time zone from these and from places, as for airports. Derived fields
// are marked in the record.
//
// Coordinates of a network are no more exact than the position of a city. So the source's country
// counts more than the derived one, and a point outside of the source's country says nothing about
// its states.
type filler struct {
	zones *zonefinder.Finder
	types []string // of state and country, the published ones

	mu    sync.Mutex // guards the fields below, and the finder
	known map[point]derived
	hits  []places.Hit
	// These are the numbers of conversions that filled in each field. A record that occurs again
	// after its conversion was forgotten counts again.
	countries, subdivisions, timeZones int64
}

type point struct {
	lat, lon float64
	country  string // from the source
	zone     bool   // whether to derive the time zone
}

// derived holds the fields derived from a point.
type derived struct {
	country, code, name, zone string
}

func openFiller(ctx context.Context, c *dataset.Catalog) (*filler, error) {
	zones, err := zonefinder.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	f := &filler{zones: zones, known: map[point]derived{}}
	for _, name := range zones.RegionTypes {
		if name == "state" || name == "country" {
			f.types = append(f.types, name)
		}
	}
	return f, nil
}

// record fills in r's missing fields if it has coordinates. It is safe for concurrent use.
func (f *filler) record(ctx context.Context, r *ipgeo.Record) error {
	if r.Location.Latitude == nil || r.Location.Longitude == nil {
		return nil
	}
	if r.Country.ISOCode != "" && len(r.Subdivisions) > 0 && r.Location.TimeZone != "" {
		return nil
	}
	p := point{*r.Location.Latitude, *r.Location.Longitude, r.Country.ISOCode, r.Location.TimeZone == ""}
	f.mu.Lock()
	defer f.mu.Unlock()
	d, ok := f.known[p]
	if !ok {
		var err error
		if d, err = f.derive(ctx, p); err != nil {
			return err
		}
		if len(f.known) >= maxFilled {
			clear(f.known)
		}
		f.known[p] = d
	}
	f.apply(r, d)
	return nil
}

// apply fills the empty fields of r from d.
func (f *filler) apply(r *ipgeo.Record, d derived) {
	mark := func(field string, count *int64) {
		r.DerivedFields = append(slices.Clip(r.DerivedFields), field)
		*count++
	}
	if r.Country.ISOCode == "" && d.country != "" && iprecord.SetCountry(r, d.country) {
		mark(derivedCountry, &f.countries)
	}
	if len(r.Subdivisions) == 0 && (d.code != "" || d.name != "") {
		s := ipgeo.Subdivision{ISOCode: d.code}
		if d.name != "" {
			s.Names = ipgeo.Names{"en": d.name}
		}
		r.Subdivisions = []ipgeo.Subdivision{s}
		mark(derivedSubdivisions, &f.subdivisions)
	}
	if r.Location.TimeZone == "" && d.zone != "" {
		r.Location.TimeZone = d.zone
		mark(derivedTimeZone, &f.timeZones)
	}
}

// These match ids that presets make from ISO 3166 codes.
var (
	countryID = regexp.MustCompile(`^[a-z]{2}$`)
	stateID   = regexp.MustCompile(`^([a-z]{2})-([a-z0-9]{1,3})$`)
)

func (f *filler) derive(ctx context.Context, p point) (d derived, err error) {
	country := p.country
	if len(f.types) > 0 {
		at, err := f.zones.Regions.At(ctx, p.lat, p.lon, f.types...)
		if err != nil {
			return d, err
		}
		inside, state := "", tiles.Region{}
		for _, r := range at {
			switch {
			case r.Type == "country" && inside == "" && countryID.MatchString(r.ID):
				inside = strings.ToUpper(r.ID)
			case r.Type == "state" && state.ID == "":
				state = r
			}
		}
		if country == "" {
			country, d.country = inside, inside
		}
		if m := stateID.FindStringSubmatch(state.ID); m != nil {
			if strings.EqualFold(m[1], country) {
				d.code, d.name = strings.ToUpper(m[2]), state.Name
			}
		} else if state.ID != "" && country != "" && inside == country {
			d.name = state.Name
		}
		if d.code == "" && d.name != "" {
			if d.code, err = f.divisionCode(ctx, p, country, d.name); err != nil {
				return d, err
			}
		}
	}
	if p.zone {
		d.zone, _, err = f.zones.Find(ctx, p.lat, p.lon, country)
	}
	return d, err
}

// divisionCode returns the ISO 3166-2 code, without the country, of a state whose region has none.
// It takes the code of the nearest place in a division of the same name. It works for countries
// whose divisions have ISO codes in GeoNames.
func (f *filler) divisionCode(ctx context.Context, p point, country, name string) (string, error) {
	if _, known := places.ISODivision(country, ""); !known || f.zones.Places == nil {
		return "", nil
	}
	own, err := places.Filter{Countries: []string{country}}.FeatureFilter()
	if err != nil {
		return "", err
	}
	q := feature.Query{Near: feature.NearTo(p.lat, p.lon, zonefinder.ReachM), Filter: own, Limit: zonefinder.MaxCandidates}
	if f.hits, err = places.CollectHits(f.hits, f.zones.Places.Features(ctx, &q)); err != nil {
		return "", fmt.Errorf("the published places: %w", err)
	}
	for i := range f.hits {
		hit := &f.hits[i]
		if code, _ := places.ISODivision(country, hit.Admin1); code != "" && bytes.Equal(search.Fold(nil, hit.Admin1Name),
			search.Fold(nil, name)) {
			f.zones.FoundNearest++ // places were used, though not for time zones
			return code, nil
		}
	}
	return "", nil
}

// credits returns the sources from which fields were derived.
func (f *filler) credits() (list []dataset.Source) {
	if f.countries+f.subdivisions > 0 {
		f.zones.FoundInside++ // boundaries were used, though not for time zones
	}
	return f.zones.Credits()
}

func (f *filler) note(rep job.Reporter) {
	if f.countries+f.subdivisions+f.timeZones > 0 {
		rep.Note(fmt.Sprintf("derived from coordinates, counted for each record converted, some of them twice: %d "+
			"countries, %d subdivisions, %d time zones",
			f.countries, f.subdivisions, f.timeZones))
	}
}
