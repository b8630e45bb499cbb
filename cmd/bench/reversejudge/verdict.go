package main

import (
	"fmt"
	"slices"
	"strings"

	"quadrille/cmd/bench/judged"
)

// blurred is the distance from a border, in metres, within which the regions on both sides are
// right.
const blurred = 100

// truth is the right answer for a point at a level, by the polygons.
type truth struct {
	right []*judged.Region // none where nothing is judged
	apart string           // why the level is counted apart, or ""
}

// These are points that are counted separately.
const (
	nowhere  = "in no polygon: not judged"
	onBorder = "within 100 m of a border: either side is right"
	unequal  = "in layers that disagree about what is around: not judged"
	uncoded  = "in a country without a code of ISO 3166: not judged"
)

func truths(w *judged.World, q question) (list [judged.Levels]truth) {
	for level, layer := range w.Layers {
		t := &list[level]
		holding := layer.At(q.lon, q.lat)
		switch {
		case len(holding) == 0:
			t.apart = nowhere
			continue
		case level == 0 && holding[0].Country == "":
			t.apart = uncoded
			continue
		case !compatible(holding[0], list[:level]):
			t.apart = unequal
			continue
		}
		t.right = holding[:1]
		for _, larger := range holding[1:] {
			if !holding[0].Within(larger) { // an enclave is no part of the region around it
				t.right = append(t.right, larger)
			}
		}
		for _, r := range layer.Regions {
			if !slices.Contains(holding, r) && r.EdgeNearer(q.lon, q.lat, blurred) {
				t.right, t.apart = append(t.right, r), onBorder
			}
		}
	}
	return list
}

// compatible reports whether a region is in the country and the state that were found.
func compatible(r *judged.Region, above []truth) bool {
	for level := range above {
		if right := above[level].right; len(right) > 0 && !slices.ContainsFunc(right, func(over *judged.Region) bool {
			return r.Country == "" || over.Country == "" ||
				r.Country == over.Country && (level == 0 || stateOf(r) == "" || stateOf(r) == stateOf(over))
		}) {
			return false
		}
	}
	return true
}

// stateOf returns the code of a state of the United States, or of the state of a county.
func stateOf(r *judged.Region) string {
	if r.Country != "US" || len(r.Codes) == 0 {
		return ""
	}
	if letters := judged.Letters(r.Codes[0]); letters != "" {
		return "us-" + strings.ToLower(letters)
	}
	return r.Codes[0]
}

// fault is a kind of mistake at a level.
type fault struct {
	kind  string
	level judged.Level
}

func (f fault) String() string {
	if strings.Contains(f.kind, "%s") {
		return fmt.Sprintf(f.kind, f.level)
	}
	return f.kind
}

// These are the kinds of faults, in the order of the table.
const (
	wrong     = "wrong %s"
	missing   = "no %s"
	beside    = "place beside a %s that it is not in"
	besideRow = "place beside a %s that its row denies and its polygon confirms"
	foreign   = "place of another %s, one of its own near"
	ownCode   = "place with another %s than its row's"
	disagree  = "members disagree"
	inLake    = "lake among the parents"
	inEqual   = "region in one of its own kind"
	refused   = "no answer"
)

var kinds = []string{refused, wrong, missing, beside, besideRow, foreign, ownCode, disagree, inLake, inEqual}

// judge compares answers with the publishers' files.
type judge struct{ *judged.World }

// faults returns the faults of an answer to a question.
func (j judge) faults(f *face, q question, a *answer, right *[judged.Levels]truth) map[fault]string {
	list := map[fault]string{}
	note := func(kind string, level judged.Level, said any) { list[fault{kind, level}] = fmt.Sprint(said) }
	for level := range right[:f.levels] {
		t, level := &right[level], judged.Level(level)
		i := slices.IndexFunc(a.point, func(c claim) bool { return c.level == level })
		switch {
		case len(t.right) == 0:
		case i < 0:
			note(missing, level, "nothing")
		case !j.claims(a.point[i], t.right):
			note(wrong, level, a.point[i])
		}
	}
	if p := j.Place(a.place); p != nil {
		for _, c := range a.beside {
			if kind := j.besideFault(p, c); kind != "" {
				note(kind, c.level, c)
			}
		}
		for _, c := range a.own {
			if own := p.Division(c.level); own != "" && c.division != "" && c.division != own {
				note(ownCode, c.level, c)
			}
		}
		if f.name != "/findNearbyPlaceNameJSON" && f.name != "/findNearbyJSON" { // they answer the nearest, whosever it is
			for level := range right {
				if j.foreign(p, q, judged.Level(level), &right[level]) {
					note(foreign, judged.Level(level), p.Name)
				}
			}
		}
	}
	if !j.agree(a.point) || !j.agree(a.beside) {
		note(disagree, 0, a.text)
	}
	for _, name := range a.nested {
		note(inEqual, 0, name)
	}
	for _, name := range a.lakes {
		note(inLake, 0, name)
	}
	for _, part := range a.parts {
		if j.isLake(part) {
			note(inLake, 0, part)
		}
	}
	return list
}

// isLake reports whether a name is a lake's and no county's, as Lake of the Woods is.
func (j judge) isLake(name string) bool {
	return j.Lakes != nil && len(j.Lakes.ByName(name)) > 0 && len(j.Layers[judged.County].ByName(name)) == 0
}

// claims reports whether any of the regions in right fits all parts of a claim. A code that the
// files lack does not contradict the claim. If a region has no division, a division does not
// either.
func (j judge) claims(c claim, right []*judged.Region) bool {
	return slices.ContainsFunc(right, func(r *judged.Region) bool {
		if known := j.Layers[c.level].ByCode(c.id); len(known) > 0 {
			if !slices.Contains(known, r) {
				return false
			}
		} else if c.name != "" && (c.division == "" || r.Division != "") && !hasName(r, c.name) {
			return false
		}
		return c.division == "" || r.Division == "" || r.Division == c.division
	})
}

func hasName(r *judged.Region, name string) bool {
	return slices.ContainsFunc(r.Names, func(own string) bool { return judged.SameName(own, name) })
}

// named returns the regions that a claim may mean.
func (j judge) named(c claim) []*judged.Region {
	if known := j.Layers[c.level].ByCode(c.id); len(known) > 0 {
		return known
	}
	return j.Layers[c.level].ByName(c.name)
}

// besideFault returns the fault if an answer wrongly names a region together with a place, or "".
// The place's row decides. If the row and the region have no kind of code in common, the region's
// polygon decides, with a tolerance of 2 km.
func (j judge) besideFault(p *judged.Place, c claim) string {
	if c.division != "" {
		if own := p.Division(c.level); own != "" && own != c.division {
			return beside
		}
		return ""
	}
	regions := j.named(c)
	if len(regions) == 0 && c.level == judged.Country && len(c.id) == 2 && !strings.EqualFold(c.id, p.Country) {
		return beside
	}
	own, kind := p.Division(c.level), ""
	if c.level == judged.Country && len(j.Layers[c.level].ByCode(own)) == 0 {
		own = "" // a territory that the layer counts to its sovereign
	}
	for _, r := range regions {
		holds := r.Holds(p.Lon, p.Lat)
		switch {
		case own != "" && own == r.Division, own == "" && holds, r.Division == "" && holds:
			return ""
		case holds:
			kind = besideRow
		case own != "" && r.Division != "" || !r.EdgeNearer(p.Lon, p.Lat, 2000):
			if kind == "" {
				kind = beside
			}
		default:
			return ""
		}
	}
	return kind
}

// foreign reports whether the named place is in another country, state or county, although there is
// a place in the point's own one within twice the distance.
func (j judge) foreign(p *judged.Place, q question, level judged.Level, t *truth) bool {
	own := p.Division(level)
	if len(t.right) == 0 || own == "" ||
		slices.ContainsFunc(t.right, func(r *judged.Region) bool { return r.Division == "" || r.Division == own }) {
		return false
	}
	reach, found := 2*judged.Metres(q.lon, q.lat, p.Lon, p.Lat), false
	j.Near(q.lon, q.lat, func(other *judged.Place, metres float64) {
		found = found || metres <= reach && other.Division(level) == t.right[0].Division
	})
	return found
}

// agree reports whether claims may be true together: the state and the county must be in the
// country, and the county must be in the state.
func (j judge) agree(list []claim) bool {
	countries, states := map[string]bool{}, map[string]bool{}
	for _, c := range list {
		if c.division != "" && len(j.Layers[judged.Country].ByCode(c.division[:2])) > 0 {
			countries[c.division[:2]] = true
		}
		regions := j.named(c)
		byName := len(j.Layers[c.level].ByCode(c.id)) == 0
		abroad := c.level == judged.County && len(countries) > 0 && !countries["US"]
		if len(regions) == 0 || byName && (len(regions) > 1 || c.division != "" || abroad) {
			continue // the name says too little
		}
		r := regions[0]
		if r.Country != "" {
			countries[r.Country] = true
		}
		if state := stateOf(r); state != "" && c.level != judged.Country {
			states[state] = true
		}
	}
	return len(countries) <= 1 && len(states) <= 1
}
