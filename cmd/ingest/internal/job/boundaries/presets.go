package boundaries

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/paulmach/orb"
	"golang.org/x/text/language"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/zonefinder"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/columns"
	"quadrille/cmd/internal/iso3166"
	"quadrille/tiles/build"
)

// preset knows the columns of layers that many people publish in the same few
// forms: Natural Earth's GeoJSON and the npm packages world-atlas and us-atlas.
// From a feature it makes a name, the codes from which the id may be made, and
// the properties of the record.
type preset struct {
	// objects are the names of the layer within a topology.
	objects  []string
	describe func(*properties) described
	// from describes each candidate for an id, in words.
	from []string
	// numbers is set if features' ids may be country numbers. Only all features of a file together
	// show whether they are country numbers.
	numbers bool
	// own is set if the id may come from a column of codes or the feature's own id, if describe
	// yields none.
	own bool
	// isCustom is set for types that are known by nothing but their name.
	isCustom bool
	// apart is set if a region is more than each of its features, and so has none of their
	// properties.
	apart bool
}

type described struct {
	claim
	name       string
	properties []build.Property
	lost       source.Lost
	refused    string // why the feature cannot be one of its type; "" when it can
}

func (d *described) add(name string, value any) {
	switch v := value.(type) {
	case string:
		if v == "" {
			return
		}
	case nil:
		return
	}
	d.properties = append(d.properties, build.Property{Name: name, Value: value})
}

// addNames adds further names for search: name_de and the like, and other forms of the name.
func (d *described) addNames(c *properties) {
	for _, key := range slices.Sorted(maps.Keys(c.folded)) {
		if lang := job.LanguageOf(key); lang != "" || key == "name_alt" || key == "abbrev" {
			if name := c.text(key); name != d.name {
				d.add(key, name)
			}
		}
	}
}

// presetFor returns the preset of a region type. Types without a preset keep all properties of the
// file.
func presetFor(typ string) preset {
	switch typ {
	case "country":
		return preset{objects: []string{"country", "countries"}, describe: country, from: countryIDs, numbers: true}
	case "state":
		return preset{objects: []string{"state", "states"}, describe: state, from: []string{"iso_3166_2", "FIPS codes", "adm1_code"}, own: true}
	case "county":
		return preset{objects: []string{"county", "counties"}, describe: county, from: []string{"FIPS codes", "adm2_code"}, own: true}
	case "lake":
		return preset{objects: []string{"lake", "lakes"}, describe: lake}
	case "marine":
		return preset{objects: []string{"marine", "seas", "geography_marine_polys"}, describe: lake}
	case "urban":
		return preset{objects: []string{"urban", "urban_areas"}, describe: urban}
	case "continent":
		return preset{
			objects:  []string{"continent", "continents", "countries"},
			describe: continent,
			from:     []string{"names of continents"},
			numbers:  true,
			apart:    true,
		}
	case "timezone":
		return preset{objects: []string{"timezone", "timezones", "time_zones"}, describe: timezone, from: []string{"names of zones", "offsets"}}
	}
	return preset{objects: []string{typ, typ + "s"}, describe: custom, own: true, isCustom: true}
}

// of describes a feature with the columns of its type's preset, and then with all other columns
// under the file's own names, sorted.
func (p preset) of(c *properties) described {
	d := p.describe(c)
	d.choose(c)
	if !p.apart && d.refused == "" {
		d.addOthers(c)
	}
	if p.own {
		d.addOwn(c)
	}
	return d
}

// isNamed reports whether the preset knows where the feature has its name.
func (p preset) isNamed(c *properties) bool {
	if p.isCustom {
		return c.text("name", "name_en") != ""
	}
	return p.describe(c).name != ""
}

// choose sets the name by the columns that the file turned out to have, or that the user named.
func (d *described) choose(c *properties) {
	if c.choice == nil || c.choice.Name == nil {
		return
	}
	var parts []string
	for _, column := range c.choice.Name {
		if text := c.value(strings.ToLower(column)); text != "" {
			parts = append(parts, text)
		}
	}
	d.name = cmp.Or(strings.Join(parts, " "), d.name)
	for column, lang := range c.choice.Languages {
		d.add("name:"+lang, c.value(strings.ToLower(column)))
	}
}

// properties are the columns of a feature, found whatever the case of their
// names: Natural Earth writes NAME in one layer, name in the next, and both in
// some.
type properties struct {
	id       string // of the feature itself
	numbered bool   // numeric ids of the file are ids of countries
	lost     source.Lost
	folded   map[string]any
	names    map[string]string // folded name to the file's own
	known    map[string]bool   // folded names of the columns that the preset has looked at
	geometry orb.Geometry
	choice   *columns.Choice // nil while it is made
}

func newColumns(f *source.Feature) *properties {
	c := &properties{
		id: f.ID, lost: f.Lost, folded: make(map[string]any, len(f.Properties)), names: make(map[string]string, len(f.Properties)),
		known: map[string]bool{}, geometry: f.Geometry,
	}
	for name, v := range f.Properties {
		key := strings.ToLower(name)
		// If two names differ only in case, the first in byte order wins.
		if other, ok := c.names[key]; ok && other < name {
			continue
		}
		c.names[key], c.folded[key] = name, v
	}
	return c
}

// text returns the first of the named columns that has a value and not a code for an unknown one.
func (c *properties) text(names ...string) string {
	for _, name := range names {
		c.known[name] = true
		if s := c.value(name); s != "" {
			return s
		}
	}
	return ""
}

// value returns a column as text, unless it is a code for an unknown value.
func (c *properties) value(key string) string {
	if s := c.written(key); !source.UnknownCodes.Has([]byte(s)) {
		return s
	}
	return ""
}

// has reports whether the feature has columns, at least one.
func (c *properties) has(names columns.Names) bool {
	for _, name := range names {
		if _, has := c.folded[strings.ToLower(name)]; !has {
			return false
		}
	}
	return len(names) > 0
}

// written returns a column as text, even if it is a code for an unknown value.
func (c *properties) written(name string) string {
	switch v := c.folded[name].(type) {
	case string:
		return clean(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case json.RawMessage:
		if v[0] != '[' && v[0] != '{' { // a number
			return string(v)
		}
	}
	return ""
}

// code returns the text in capitals if it matches.
func (c *properties) code(re *regexp.Regexp, names ...string) string {
	for _, name := range names {
		if s := strings.ToUpper(c.text(name)); re.MatchString(s) {
			return s
		}
	}
	return ""
}

// number returns the value of a column as a number, as int64 if it is whole. It returns nil if the
// value is not a known number.
func (c *properties) number(name string) any {
	c.known[name] = true
	var f float64
	switch v := c.folded[name].(type) {
	case int64:
		f = float64(v)
	case float64:
		f = v
	default:
		return nil
	}
	switch {
	case f == -99 || f == -1 || f == -9999:
		return nil
	case f == math.Trunc(f) && math.Abs(f) < 1<<53:
		return int64(f)
	}
	return f
}

// label reads Natural Earth's columns LABEL_X, LABEL_Y and LABELRANK. Invalid values are left
// out, and ok is then false.
func (c *properties) label() (l build.Label, ok bool) {
	ok = true
	known := func(name string) (float64, bool) {
		text := c.written(name)
		if _, has := c.folded[name]; !has || text == "" && c.folded[name] == "" {
			return 0, false
		}
		f, number := source.ParseDecimal(text, math.MaxFloat64)
		ok = ok && number
		return f, number
	}
	x, hasX := known("label_x")
	y, hasY := known("label_y")
	if hasX && hasY {
		if p, reason, _ := source.NormalizePosition(x, y); reason == "" {
			l.At = &p
		}
	}
	ok = ok && (l.At != nil || !hasX && !hasY)
	if rank, has := known("labelrank"); has && rank != -99 {
		l.Rank = &rank
	}
	return l, ok
}

// count does the same as number, but returns nil for negative numbers.
func (c *properties) count(name string) any {
	if n, ok := c.number(name).(int64); ok && n >= 0 {
		return n
	}
	return nil
}

var (
	alpha2    = regexp.MustCompile(`^[A-Z]{2}$`)
	alpha3    = regexp.MustCompile(`^[A-Z]{3}$`)
	numeric3  = regexp.MustCompile(`^[0-9]{1,3}$`)
	iso31662  = regexp.MustCompile(`^[A-Z]{2}-[A-Z0-9]{1,3}$`)
	fips2     = regexp.MustCompile(`^[0-9]{1,2}$`)
	fips5     = regexp.MustCompile(`^[0-9]{4,5}$`)
	usCounty  = regexp.MustCompile(`^US(?:A-)?([0-9]{5})$`)
	ianaZone  = regexp.MustCompile(`^[A-Z][A-Za-z_]+(/[A-Za-z0-9_+-]+)+$`)
	wikidata  = regexp.MustCompile(`^Q[0-9]+$`)
	zeroWidth = "00000"
)

// padded restores leading zeros that a number has lost.
func padded(s string, width int) string {
	if len(s) >= width || s == "" {
		return s
	}
	return zeroWidth[:width-len(s)] + s
}

var countryIDs = []string{"ISO 3166-1 codes", "ISO 3166-1 codes", "ISO 3166-1 codes of three letters",
	"features' ids, which are ISO 3166-1 codes,", "codes of three letters"}

// countryName returns the name that country uses.
func countryName(c *properties) string {
	return c.text("name", "name_en", "name_long", "admin", "geounit", "sovereignt")
}

// country reads Natural Earth's admin 0 and world-atlas, whose features have ISO 3166-1 numeric ids
// and a name.
func country(c *properties) (d described) {
	d.name = countryName(c)
	iso2 := c.code(alpha2, "iso_a2", "iso3166-1-alpha-2", "iso2", "iso2_code", "country_code")
	// ISO_A2_EH fills most of the gaps of ISO_A2, but gives dependencies the code of their
	// sovereign too: Clipperton Island has France's. In that case the three-letter code in the same
	// row is not the feature's own.
	own := c.code(alpha2, "iso_a2_eh")
	if eh, adm0 := c.code(alpha3, "iso_a3_eh"), c.code(alpha3, "adm0_a3"); eh != "" && adm0 != "" && eh != adm0 {
		own = ""
	}
	adm0 := c.code(alpha3, "adm0_a3", "iso_a3", "iso3166-1-alpha-3", "iso3", "iso3_code")
	iso3 := c.code(alpha3, "iso_a3", "iso_a3_eh", "iso3166-1-alpha-3", "iso3", "iso3_code")
	iso1 := c.code(numeric3, "iso_n3", "iso_n3_eh")
	region, byID := c.idRegion()
	_, longer := regionOf(cmp.Or(c.code(alpha3, "iso_a3", "iso3166-1-alpha-3", "iso3", "iso3_code"), adm0, c.code(numeric3, "iso_n3")))
	d.candidates = []candidate{{value: iso2}, {value: own}, {value: longer}, {value: byID, shared: true}, {value: adm0}}

	iso2 = cmp.Or(iso2, own, longer)
	if iso2 == "" {
		iso2 = byID
	} else {
		byID = "" // a column counts more than an id
	}
	if iso2 == "" {
		iso3, iso1 = "", "" // codes of the sovereign
	}
	continent := c.text("continent")
	if byID != "" {
		if iso3 == "" && region.ISO3() != "ZZZ" {
			iso3 = region.ISO3()
		}
		iso1 = strconv.Itoa(region.M49())
		if continent == "" {
			if known, ok := iso3166.Lookup(byID); ok {
				continent = iso3166.ContinentName(known.Continent)
			}
		}
	}
	d.add("iso_a2", iso2)
	d.add("iso_a3", iso3)
	if iso1 != "" {
		d.add("iso_n3", padded(iso1, 3))
	}
	d.add("continent", continent)
	d.add("subregion", c.text("subregion"))
	d.add("population", c.count("pop_est"))
	d.add("population_year", c.count("pop_year"))
	if long := c.text("name_long"); long != d.name {
		d.add("name_long", long)
	}
	d.add("formal_name", c.text("formal_en"))
	d.addNames(c)
	if sovereign := c.text("sovereignt"); sovereign != d.name && sovereign != c.text("admin") {
		d.add("sovereign", sovereign)
	}
	d.add("kind", c.text("type"))
	d.add("wikidata", c.code(wikidata, "wikidataid"))
	return d
}

// idRegion does the same as regionOf for the feature's own id. A number counts as a country's code
// only if the whole file agrees.
func (c *properties) idRegion() (language.Region, string) {
	if isNumber(c.id) && !c.numbered {
		return language.Region{}, ""
	}
	return regionOf(c.id)
}

// regionOf returns the region and the two-letter code for an ISO 3166-1 code of any of the three
// kinds.
func regionOf(id string) (language.Region, string) {
	var r language.Region
	var err error
	if numeric3.MatchString(id) {
		n, _ := strconv.Atoi(id)
		r, err = language.EncodeM49(n)
	} else if code := strings.ToUpper(id); alpha2.MatchString(code) || alpha3.MatchString(code) {
		r, err = language.ParseRegion(code)
	} else {
		return r, ""
	}
	if s := r.String(); err == nil && r.IsCountry() && alpha2.MatchString(s) {
		return r, s
	}
	return r, ""
}

// state reads Natural Earth's admin 1 and us-atlas, whose features have FIPS 5-2 ids and a name.
func state(c *properties) (d described) {
	d.name = c.text("name", "name_en", "gn_name", "woe_name", "name_local")
	iso := c.code(iso31662, "iso_3166_2")
	adm1 := c.text("adm1_code")
	var us usState
	var byFIPS string
	if code := c.code(fips2, "statefp", "state_fips", "fips", "geoid"); code != "" {
		us, _ = stateByFIPS(padded(code, 2))
	} else if fips2.MatchString(c.id) {
		// A number alone proves nothing, because Spain's codes also have two digits.
		if by, ok := stateByFIPS(padded(c.id, 2)); ok && (strings.EqualFold(d.name, by.name) || by.box.holds(c.geometry)) {
			us = by
		}
	}
	if us.fips != "" && c.foreign(us) {
		us = usState{}
	}
	if us.fips != "" {
		byFIPS = "US-" + us.postal
	} else {
		us, _ = stateByISO(iso)
	}
	d.candidates = []candidate{{value: iso}, {value: byFIPS, shared: true}, {value: adm1, shared: true}}

	if iso == "" {
		iso = byFIPS
	}
	d.add("iso_3166_2", iso)
	countryCode := c.code(alpha2, "iso_a2")
	if countryCode == "" && us.fips != "" {
		countryCode = "US"
	}
	d.add("country", countryCode)
	d.add("country_name", c.text("admin"))
	d.add("fips", us.fips)
	d.add("adm1_code", adm1)
	postal := c.text("postal")
	if postal == "" {
		postal = us.postal
	}
	d.add("postal", postal)
	d.add("kind", c.text("type_en"))
	d.add("region", c.text("region"))
	if local := c.text("name_local"); local != d.name {
		d.add("name_local", local)
	}
	d.addNames(c)
	d.add("wikidata", c.code(wikidata, "wikidataid"))
	return d
}

// county reads Natural Earth's admin 2, the Census Bureau's files and us-atlas. All of them use
// FIPS 6-4.
func county(c *properties) (d described) {
	d.name = c.text("name", "name_en", "namelsad")
	code := c.code(fips5, "fips", "geoid")
	if code == "" && fips5.MatchString(c.id) && c.inUS(padded(c.id, 5)[:2]) {
		code = c.id
	}
	if code == "" {
		if m := usCounty.FindStringSubmatch(c.code(usCounty, "adm2_code", "code_local")); m != nil {
			code = m[1]
		}
	}
	code = padded(code, 5)
	if us, ok := stateByFIPS(code[:min(2, len(code))]); ok && c.foreign(us) {
		code = ""
	}
	d.candidates = []candidate{{value: code, shared: true}, {value: c.text("adm2_code"), shared: true}}
	d.add("fips", code)
	iso := c.code(iso31662, "iso_3166_2")
	countryCode := c.code(alpha2, "iso_a2")
	if code != "" {
		if us, ok := stateByFIPS(code[:2]); ok {
			iso, countryCode = "US-"+us.postal, "US"
			d.add("state", us.name)
		}
	}
	d.add("iso_3166_2", iso)
	d.add("country", countryCode)
	return d
}

// foreign reports whether a column names another country than the state's: columns named fips also
// number divisions of other countries. Territories have country codes of their own.
func (c *properties) foreign(us usState) bool {
	for _, column := range []string{"iso_a2", "iso2", "iso3166-1-alpha-2", "country_code"} {
		code := strings.ToUpper(c.written(column))
		if alpha2.MatchString(code) && code != "US" && (us.fips < "60" || code != us.postal) {
			return true
		}
	}
	return false
}

// inUS reports whether a county lies in the box of the state with this code, or names the country
// or the state. Its number alone proves nothing, because towns of Spain have five digits as well.
func (c *properties) inUS(fips string) bool {
	us, ok := stateByFIPS(fips)
	if !ok {
		return false
	}
	// The code of a country may also be the code of a state: CO is Colombia and Colorado.
	for _, column := range []string{"iso_a2", "country", "country_code"} {
		switch c.written(column) {
		case "US", "USA", "United States", "United States of America":
			return true
		}
	}
	for _, column := range []string{"state", "state_name", "statename", "stusps", "state_abbr"} {
		if text := c.written(column); text == us.name || text == us.postal {
			return true
		}
	}
	return us.box.holds(c.geometry)
}

// continent merges all countries of a continent into one region, from the same files as country.
func continent(c *properties) (d described) {
	d.name = c.text("continent")
	if d.name == "" {
		code := c.code(alpha2, "iso_a2", "iso_a2_eh")
		if code == "" {
			_, code = regionOf(c.code(alpha3, "iso_a3", "iso3166-1-alpha-3", "iso3", "iso3_code", "adm0_a3"))
		}
		if code == "" {
			_, code = c.idRegion()
		}
		if known, ok := iso3166.Lookup(code); ok {
			d.name = iso3166.ContinentName(known.Continent)
		}
	}
	if d.name == "" {
		d.name, d.refused = c.text("name",
			"admin"), "country whose continent is not known; use admin_0_countries of Natural Earth, which has a column CONTINENT"
	}
	d.candidates = []candidate{{value: d.name, shared: true}}
	return d
}

func lake(c *properties) (d described) {
	d.name = c.text("name", "name_en", "name_alt")
	d.add("kind", c.text("featurecla"))
	if alt := c.text("name_alt"); alt != d.name {
		d.add("name_alt", alt)
	}
	d.add("dam", c.text("dam_name"))
	d.add("scale_rank", c.count("scalerank"))
	return d
}

func urban(c *properties) (d described) {
	d.name = c.text("name", "name_conve")
	d.add("area_km2", c.number("area_sqkm"))
	d.add("scale_rank", c.count("scalerank"))
	return d
}

// timezone reads the zones of Natural Earth and of timezone-boundary-builder. The latter have the
// property tzid. Those of Natural Earth are areas of one UTC offset, and have at best the name of
// one IANA zone in them. Areas without a name become one region per offset.
func timezone(c *properties) (d described) {
	if id := c.text("tzid"); id != "" && !zonefinder.IsZone(id) {
		d.name, d.refused = id, "time zone that this program does not know; if it is a new one, update the program"
		return d
	}
	zone := c.text("tzid", "tz_name1st")
	if !ianaZone.MatchString(zone) {
		zone = ""
	}
	offset := c.text("time_zone", "utc_format")
	d.name = zone
	if d.name == "" {
		d.name = offset
	}
	d.candidates = []candidate{
		{value: zone, shared: true},
		{value: strings.NewReplacer("+", "-plus-", "-", "-minus-", "−", "-minus-", "±", "-").Replace(offset), shared: true},
	}
	d.add("time_zone", zone)
	d.add("utc_offset", offset)
	d.add("offset_hours", c.number("zone"))
	d.add("places", c.text("places"))
	return d
}

// These are bounds on the properties of a region.
const (
	maxProperties   = 100
	maxPropertyText = 4 << 10
)

// These are the reasons why a property is lost.
var (
	tooManyProperties = fmt.Sprintf("there are more than %d", maxProperties)
	tooLongProperty   = fmt.Sprintf("it is longer than %d bytes", maxPropertyText)
)

// custom keeps the file's own properties.
func custom(c *properties) (d described) {
	d.name = c.text("name", "name_en", "title", "label")
	c.known = map[string]bool{"name": true}
	return d
}

// addOthers adds the columns that are not yet in the properties: those that the preset does not
// read, and those that it reads but whose values it could not use.
func (d *described) addOthers(c *properties) {
	d.lost = c.lost
	taken := make(map[string]any, len(d.properties)+len(c.folded))
	said := map[string]bool{"": true, d.name: true}
	for _, p := range d.properties {
		taken[p.Name] = p.Value
		said[unpadded(fmt.Sprint(p.Value))] = true
	}
	for _, key := range slices.Sorted(maps.Keys(c.folded)) {
		name, v := clean(c.names[key]), c.folded[key]
		raw, isRaw := v.(json.RawMessage)
		_, isBool := v.(bool)
		known := c.known[key]
		if known && !isRaw && !isBool && said[unpadded(c.text(key))] {
			continue
		}
		if len(d.properties) >= maxProperties {
			d.lost.Add(name, tooManyProperties)
			continue
		}
		switch key {
		case "id", "type", "bbox", "geometry":
			known = true // the plain name is the region's own member
		}
		if known {
			name = "source_" + name
		}
		long := len(raw)
		if text, is := v.(string); is {
			text = clean(text)
			v, long = text, len(text)
		}
		if long > maxPropertyText {
			d.lost.Add(name, tooLongProperty)
			continue
		}
		other, is := taken[name]
		for is && (isRaw || other != v) {
			name = "source_" + name // the plain name is taken by a property of the preset
			other, is = taken[name]
		}
		if !is {
			taken[name] = v
			d.add(name, v)
		}
	}
}

// unpadded returns a text without leading zeros, which numbers lose.
func unpadded(text string) string { return strings.TrimLeft(text, "0") }
