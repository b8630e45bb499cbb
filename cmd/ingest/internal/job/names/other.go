package names

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/zonefinder"
	"quadrille/feature"
	"quadrille/places/airports"
	"quadrille/places/names"
	"quadrille/places/search"
	"quadrille/places/stations"
)

// openPoints opens the published collections that are to be searched.
func (n *namer) openPoints(c *dataset.Catalog) error {
	published, err := c.Datasets(n.ctx)
	if err != nil {
		return err
	}
	for _, name := range published {
		collection, isPoints := strings.CutPrefix(name, ask.CollectionPrefix)
		if _, known := ask.FindDataset(name); !known || !isPoints {
			continue
		}
		of, g, err := job.OpenCurrent(n.ctx, c, ask.CollectionOf(collection))
		switch {
		case err != nil:
			return err
		case g == nil:
		case of.Meta().Search:
			n.use(g)
			n.points = append(n.points, of)
		default:
			if err := g.Close(); err != nil {
				return err
			}
		}
	}
	return nil
}

// IsSearched reports whether a collection is published and to be in the index of names. It also
// returns true if the index has points, because these may be earlier points of the collection.
func IsSearched(ctx context.Context, c *dataset.Catalog, collection string) (bool, error) {
	of, g, err := job.OpenCurrent(ctx, c, ask.CollectionOf(strings.TrimPrefix(collection, ask.CollectionPrefix)))
	if err != nil {
		return false, err
	}
	if g != nil {
		if err := g.Close(); err != nil || of.Meta().Search {
			return of.Meta().Search, err
		}
	}
	if _, g, err = job.OpenCurrent(ctx, c, ask.Names); err != nil || g == nil {
		return false, err
	}
	var index names.Meta
	err = json.Unmarshal(g.Manifest.Meta, &index)
	return index.Features[names.Point] > 0, errors.Join(err, g.Close())
}

// readZones yields the time zones that have borders.
func (n *namer) readZones(take func(names.Feature) error) error {
	if !n.zones {
		return nil
	}
	return n.eachRegion(zonefinder.Layer, feature.Query{}, func(region *feature.Feature) error {
		geometry, err := region.Orb()
		if err != nil {
			return fmt.Errorf("%s %s: %w", zonefinder.Layer, region.ID, err)
		}
		f := names.Feature{
			Kind:   names.Zone,
			Type:   zonefinder.Layer,
			ID:     region.ID,
			Name:   cmp.Or(region.Name(), region.ID),
			Bounds: boundsOf(region),
		}
		f.Lon, f.Lat = pointOf(region, geometry)
		// People search for a zone by its city and not by its name.
		if i := strings.LastIndexByte(f.Name, '/'); i >= 0 {
			f.Names = append(f.Names, search.Name{Text: strings.ReplaceAll(f.Name[i+1:], "_", " ")})
		}
		return take(f)
	})
}

// readStations yields the weather stations.
func (n *namer) readStations(take func(names.Feature) error) error {
	if n.stations == nil {
		return nil
	}
	for s, err := range n.stations.Features(n.ctx, &feature.Query{}) {
		if err != nil {
			return err
		}
		var id stations.ID
		if copy(id[:], s.ID); s.Name() == "" {
			continue
		}
		f := names.Feature{
			Kind:    names.Station,
			ID:      s.ID,
			Name:    s.Name(),
			Country: s.Properties.Text("country"),
			Code:    s.Properties.Text("icao"),
			Lat:     s.Lat,
			Lon:     s.Lon,
		}
		addCodes(&f, f.Code, cmp.Or(s.Properties.Text("wmo"), id.WMO()), s.ID)
		if f.Parents, err = n.parents(f.Lat, f.Lon, n.all(), f.Country); err != nil {
			return err
		}
		if err := take(f); err != nil {
			return err
		}
	}
	return nil
}

// readPoints yields the points of collections.
func (n *namer) readPoints(take func(names.Feature) error) error {
	for _, c := range n.points {
		for at, err := range c.Features(n.ctx, &feature.Query{}) {
			if err != nil {
				return err
			}
			name := nameOf(at)
			if name == "" {
				continue
			}
			f := names.Feature{Kind: names.Point, Type: c.Meta().Name, ID: at.ID, Name: name, Lat: at.Lat, Lon: at.Lon}
			if f.Parents, err = n.parents(f.Lat, f.Lon, n.all(), f.Country); err != nil {
				return err
			}
			if err := take(f); err != nil {
				return err
			}
		}
	}
	return nil
}

// nameOf returns the name of a point, which some sources write as Name or NAME. A name that is not
// a text is ignored.
func nameOf(f *feature.Feature) string {
	name := f.Name()
	for key, v := range f.Properties.All() {
		if name == "" && v.Kind() == feature.Text && strings.EqualFold(key, "name") {
			name = v.Text()
		}
	}
	return name
}

// The first two digits of a county's FIPS code are its state or territory. In those listed here,
// counties have another title.
const (
	fipsAlaska     = "02"
	fipsCapital    = "11" // District of Columbia
	fipsLouisiana  = "22"
	fipsPuertoRico = "72"
	fipsTerritory  = "57" // the greatest of a state is below
	// fipsCity is the least code, within its state, of a city that is in no county.
	fipsCity = "510"
)

// countyTitle returns the usual name of a county of the United States: "Rice County". Lists of
// counties omit the second word. The state follows from the code of the record, or from a FIPS
// code as the id. Alaska's boroughs and census areas cannot be distinguished, and keep their names.
func countyTitle(typ, id string, r *regionRecord) string {
	state, fips := strings.CutPrefix(string(r.ISO3166), "US-")
	if !fips {
		if country := cmp.Or(r.ISOA2, r.Country); country != "" && country != "US" {
			return ""
		}
		if len(id) != 5 || strings.Trim(id, "0123456789") != "" {
			return ""
		}
		if id[2:] >= fipsCity || id[:2] >= fipsTerritory && id[:2] != fipsPuertoRico {
			return ""
		}
		state = id[:2]
	}
	if typ != countyType || strings.HasSuffix(r.Name, " City") {
		return ""
	}
	switch state {
	case fipsLouisiana, "LA":
		return r.Name + " Parish"
	case fipsPuertoRico, "PR":
		return r.Name + " Municipio"
	case fipsAlaska, "AK", fipsCapital, "DC":
		return ""
	}
	return r.Name + " County"
}

// airportNames returns the names, other than its own name, by which people search for an airport.
// They leave out the words that many airports have. An airport with a code that travellers know
// also has names with its city and without it, and the code.
func airportNames(name, city, iata string) (list []search.Name) {
	add := func(text string) {
		if text != name && !slices.ContainsFunc(list, func(n search.Name) bool { return n.Text == text }) {
			list = append(list, search.Name{Text: text})
		}
	}
	short := strings.TrimSpace(name)
	for _, suffix := range []string{" Airport", " Air Base", " Airfield", " Airstrip", " International", " Regional", " Municipal"} {
		if i := len(short) - len(suffix); i > 0 && strings.EqualFold(short[i:], suffix) {
			short = short[:i]
		}
	}
	if short != city { // this is the city's name; as the airport's it needs the word
		add(short)
	}
	if iata == "" {
		return list
	}
	add(short + " Airport")
	add(iata + " Airport")
	if city == "" {
		return list
	}
	add(city + " Airport")
	rest, found := strings.CutPrefix(short, city)
	if !found {
		add(city + " " + name)
		return list
	}
	// There may be a hyphen or slash between the two: "Paris-Orly".
	if rest = strings.Trim(rest, " -–/"); len(rest) > 3 {
		add(rest)
		add(rest + " Airport")
	}
	return list
}

// addRecord adds names that only the record of an airport has: the GPS code, and keywords such as
// former names and codes.
func (n *namer) addRecord(f *names.Feature, r *airportRecord) error {
	var record airports.Record
	// A more important airport may have the same code. The lookup then returns the record of that
	// airport.
	for _, by := range [...]struct {
		kind airports.CodeKind
		code string
	}{{airports.Local, r.ident}, {airports.ICAO, r.icao}, {airports.IATA, r.iata}, {airports.Local, r.local}} {
		err := n.airports.ByCode(n.ctx, by.kind, by.code, &record)
		if err == nil && record.ID == r.id {
			break
		}
		if record.ID = 0; err != nil && !errors.Is(err, airports.ErrNotFound) && !errors.Is(err, airports.ErrBadCode) {
			return err
		}
	}
	if record.ID == 0 {
		return nil
	}
	a, err := record.Airport()
	if err != nil {
		return err
	}
	addCodes(f, a.GPS)
	for _, word := range a.Keywords[:min(len(a.Keywords), maxKeywords)] {
		if airportCode.MatchString(word) {
			addCodes(f, word)
		} else if !slices.ContainsFunc(f.Names, func(o search.Name) bool { return o.Text == word }) {
			f.Names = append(f.Names, search.Name{Text: word, Colloquial: true})
		}
	}
	return nil
}

// airportCode matches a keyword that is a code and not a name.
var airportCode = regexp.MustCompile(`^([A-Z0-9]{3,4}|[A-Z]{2}-[0-9]{4,5})$`)

// maxKeywords bounds the keywords of an airport.
const maxKeywords = 30

// otherCodes are codes besides those of ISO 3166-1 that people use for countries.
var otherCodes = map[string][]string{"GB": {"UK", "GBR"}, "AE": {"UAE"}, "CD": {"DRC"}, "US": {"USA"}, "GR": {"EL"}}
