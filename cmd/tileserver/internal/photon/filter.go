package photon

import (
	"regexp"
	"slices"
	"strings"
)

// These are layers, by the names of Photon's address types.
const (
	layerHouse    = "house"
	layerStreet   = "street"
	layerLocality = "locality"
	layerDistrict = "district"
	layerCity     = "city"
	layerCounty   = "county"
	layerState    = "state"
	layerCountry  = "country"
	layerOther    = "other"
)

var layers = []string{layerHouse, layerStreet, layerLocality, layerDistrict, layerCity, layerCounty, layerState, layerCountry, layerOther}

// filter is made of osm_tag, layer, include and exclude.
type filter struct {
	layers           []string
	tags, noTags     []tagFilter // one must fit, none may
	include, exclude [][]string  // categories: a feature must have one of each list in include, and not all of any list in exclude
}

// tagFilter matches a key, a value or both.
type tagFilter struct {
	key, value string
	// other is set if the value must be a different one.
	other bool
}

func (t *tagFilter) fits(f *feature) bool {
	if t.key != "" && t.key != f.key {
		return false
	}
	return t.value == "" || (t.value == f.value) != t.other
}

func (f *filter) empty() bool {
	return len(f.layers)+len(f.tags)+len(f.noTags)+len(f.include)+len(f.exclude) == 0
}

// passes reports whether a feature meets the filters.
func (f *filter) passes(of *feature) bool {
	fits := func(t tagFilter) bool { return t.fits(of) }
	has := func(category string) bool {
		own := "osm." + of.key + "." + of.value
		return own == category || strings.HasPrefix(own, category+".")
	}
	lacks := func(category string) bool { return !has(category) }
	return (len(f.layers) == 0 || slices.Contains(f.layers, of.layer)) &&
		(len(f.tags) == 0 || slices.ContainsFunc(f.tags, fits)) && !slices.ContainsFunc(f.noTags, fits) &&
		!slices.ContainsFunc(f.include, func(list []string) bool { return !slices.ContainsFunc(list, has) }) &&
		!slices.ContainsFunc(f.exclude, func(list []string) bool { return !slices.ContainsFunc(list, lacks) })
}

func (p *params) filter() (f filter) {
	f.layers = p.list("layer")
	if slices.ContainsFunc(f.layers, func(l string) bool { return !slices.Contains(layers, l) }) {
		p.refuse("Unknown layer type. Available layers: [" + strings.Join(layers, ", ") + "]")
	}
	for _, text := range p.list("osm_tag") {
		t, exclude, ok := parseTag(text)
		switch {
		case !ok:
			p.refuse("Invalid format for osm_tag parameter.")
		case exclude:
			f.noTags = append(f.noTags, t)
		default:
			f.tags = append(f.tags, t)
		}
	}
	f.include, f.exclude = p.categories("include"), p.categories("exclude")
	return f
}

// parseTag reads a filter with Photon's syntax: key, key:value or :value, each with a leading ! to
// exclude, and key:!value for any other value.
func parseTag(text string) (t tagFilter, exclude, ok bool) {
	key, value, pair := strings.Cut(text, ":")
	key, noKey := strings.CutPrefix(key, "!")
	value, noValue := strings.CutPrefix(value, "!")
	t.key, t.value = strings.TrimSpace(key), strings.TrimSpace(value)
	switch {
	case strings.Contains(value, ":"), pair && t.value == "", !pair && t.key == "":
		return t, false, false
	case noValue && !noKey && t.key != "":
		t.other = true
		return t, false, true
	}
	return t, noKey || noValue, true
}

// category matches a list of categories: a group, a dot and up to three more labels.
var category = regexp.MustCompile(`^[a-zA-Z0-9_-]+(\.[a-zA-Z0-9_-]+){1,3}(,[a-zA-Z0-9_-]+(\.[a-zA-Z0-9_-]+){1,3})*$`)

func (p *params) categories(name string) (lists [][]string) {
	for _, text := range p.list(name) {
		if !category.MatchString(text) {
			p.refuse("Invalid category pattern in '" + name + "'.")
			return nil
		}
		lists = append(lists, strings.Split(text, ","))
	}
	return lists
}
