package boundaries

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A worldview is a government's view of the borders of countries. Since version 5 Natural Earth
// has, for some thirty governments XX and for ISO, two columns:
//
//	FCLASS_XX    what XX holds the area to be: "Admin-0 country", "Admin-0
//	             dependency", "Unrecognized", "Admin-1 states provinces", …;
//	             empty where XX has no opinion of its own
//	ADM0_A3_XX   the code of the country XX counts the area to; ADM0_ISO for ISO
//
// An area becomes part of the country of ADM0_A3_XX, with that country's id, name and record. It
// does so only if XX does not consider it to be a country or dependency, and if the file has that
// country. If FCLASS_XX is empty, ISO's class decides. For such areas ADM0_A3_XX gives Barbados to
// Uruguay in Argentina's view, by mistake, and Taiwan to China in Russia's view, on purpose. An
// unrecognized area that is counted to no other country, such as Gibraltar in Spain's view, stays
// unchanged. The columns do not name its country. Borders within an area, such as those of Kashmir,
// are in other files of Natural Earth and are not moved.
const (
	classColumn = "fclass_"
	ownerColumn = "adm0_a3_"
)

var viewCode = regexp.MustCompile(`^[a-z]{2,3}$`)

// CheckWorldview returns an error if a view cannot have this name.
func CheckWorldview(view string) error {
	if !viewCode.MatchString(strings.ToLower(view)) {
		return fmt.Errorf("%q is no worldview; give the two letters of a country, such as IN, or ISO", view)
	}
	return nil
}

// hasWorldviews reports whether layers of a type have the columns for worldviews.
func hasWorldviews(typ string) bool { return typ == "country" }

// viewed is a feature in a worldview.
type viewed struct {
	self  string // the feature's own code
	owner string // the code of the country that it belongs to; "" if it stands for itself
	known bool   // whether the columns are there
}

func (c *properties) view(view string) (v viewed) {
	view = strings.ToLower(view)
	owner := ownerColumn + view
	if view == "iso" {
		owner = "adm0_iso"
	}
	v.self = c.code(alpha3, "adm0_a3")
	// In some files the columns for views contain no codes.
	if v.known = c.hasViews() && c.code(alpha3, owner) != ""; !v.known {
		return v
	}
	class := c.text(classColumn + view)
	if class == "" {
		class = c.text(classColumn + "iso")
	}
	switch class {
	case "", "Admin-0 country", "Admin-0 dependency":
		return v
	}
	if code := c.code(alpha3, owner); code != v.self {
		v.owner = code
	}
	return v
}

// hasViews reports whether a feature has the columns of worldviews, which exist since version 5 of
// Natural Earth.
func (c *properties) hasViews() bool { return c.names[classColumn+"iso"] != "" }

// views returns the views for which a feature has codes.
func (c *properties) views() (views []string) {
	if !c.hasViews() {
		return nil
	}
	if c.code(alpha3, "adm0_iso") != "" {
		views = append(views, "ISO")
	}
	for name := range c.names {
		if view, ok := strings.CutPrefix(name, ownerColumn); ok && viewCode.MatchString(view) && c.code(alpha3, name) != "" {
			views = append(views, strings.ToUpper(view))
		}
	}
	slices.Sort(views)
	return views
}

// merge handles features that a view counts to other features: it gives them the ids of the other
// features. It reports which features are merged.
func (l *layer) merge(ids []string) []bool {
	merged := make([]bool, len(ids))
	at := make(map[string]int, len(ids))
	for i, v := range l.viewed {
		if _, ok := at[v.self]; !ok && v.self != "" {
			at[v.self] = i
		}
	}
	for i := range l.viewed {
		// An owner may itself be counted to another feature, but not in a circle.
		const furthest = 8
		to := i
		for range furthest {
			next, ok := at[l.viewed[to].owner]
			if !ok {
				break
			}
			to = next
		}
		if _, circle := at[l.viewed[to].owner]; to != i && !circle {
			ids[i], merged[i] = ids[to], true
		}
	}
	return merged
}
