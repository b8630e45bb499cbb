package boundaries

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/paulmach/orb"
	"golang.org/x/text/unicode/norm"

	"quadrille/feature"
)

// maxID is the greatest length in bytes of a generated region id without its suffix.
const maxID = 80

// candidate is a value that may become a region's id.
type candidate struct {
	value string // as in the source; empty if missing
	// shared is set if features with the same value form one region. If it is not set, a value is
	// good only if a single feature has it.
	shared bool
}

// claim has the sources of a feature's id: candidates in order of preference, and a fallback text,
// usually the name, if none is good. A candidate at an index has the same meaning in all features
// of a layer.
type claim struct {
	candidates []candidate
	fallback   string
	from       []string // the sources of the candidates, in words
	level      int      // of the candidate that assignIDs took, from 1; 0: none
}

// spot distinguishes features without a code or a unique name by their position. near is short, and
// stays the same if a border is drawn more exactly. exact differs whenever the geometry does.
type spot struct{ near, exact string }

// publishable matches ids that need no escaping in any address.
var publishable = regexp.MustCompile(fmt.Sprintf(`^[A-Za-z0-9][A-Za-z0-9._-]{0,%d}$`, maxID-1))

// ownCodes match codes that name regions of some types in every file. Ids from them are in lower
// case: fr, us-ks, usa-3514, africa.
var ownCodes = map[string]*regexp.Regexp{
	"country":   regexp.MustCompile(`^[A-Za-z]{2,3}$`),
	"state":     regexp.MustCompile(`^[A-Za-z]{2}-[A-Za-z0-9]{1,3}$|^[A-Za-z]{3}-[0-9]+$`),
	"county":    regexp.MustCompile(`^[A-Za-z]{3}-[0-9]+$`),
	"continent": regexp.MustCompile(``),
	"timezone":  regexp.MustCompile(``),
}

// spelled returns the id for a value: the value itself if it is a valid id and not one of the
// ownCodes, else its slug.
func spelled(typ, value, slug string) string {
	if own, ok := ownCodes[typ]; !publishable.MatchString(value) || ok && own.MatchString(value) {
		return slug
	}
	return value
}

// unify gives the same spelling to values of a candidate that differ only in case, because ids are
// compared without regard to case. It uses the first spelling in byte order, where capitals come
// first. It returns the other spellings for the claims that have some.
func unify(claims []claim) (others map[int][]string) {
	type place struct {
		level int
		value string // in lower case
	}
	first := map[place]string{}
	for _, c := range claims {
		for level := range c.candidates {
			v := c.candidates[level].value
			at := place{level, strings.ToLower(v)}
			if known, ok := first[at]; !ok || v < known {
				first[at] = v
			}
		}
	}
	others = map[int][]string{}
	for i := range claims {
		for level := range claims[i].candidates {
			c := &claims[i].candidates[level]
			if one := first[place{level, strings.ToLower(c.value)}]; one != c.value {
				others[i] = append(others[i], c.value)
				c.value = one
			}
		}
	}
	return others
}

// assignIDs gives every claim the id of its first good candidate, in the spelling of spelled.
// Claims with the same id are one region. Claims without a good candidate get a slug of the name,
// or of the type. If several would get the same slug, the spot is added. All slugs are URL-safe,
// [a-z0-9-]. An id does not depend on the order of the claims, unless they are equal in everything.
func assignIDs(typ string, claims []claim, spotOf func(i int) spot) []string {
	ids := make([]string, len(claims))
	taken := map[string]bool{}
	levels := 0
	for _, c := range claims {
		levels = max(levels, len(c.candidates))
	}
	for level := range levels {
		claimants := map[candidate][]int{}
		values := map[string][]candidate{} // by the slug they make
		for i, c := range claims {
			if ids[i] != "" || level >= len(c.candidates) {
				continue
			}
			v := c.candidates[level]
			s := slug(v.value)
			if s == "" {
				continue
			}
			if len(claimants[v]) == 0 {
				values[s] = append(values[s], v)
			}
			claimants[v] = append(claimants[v], i)
		}
		for _, s := range slices.Sorted(maps.Keys(values)) {
			slices.SortFunc(values[s], func(a, b candidate) int { return strings.Compare(a.value, b.value) })
			for _, v := range values[s] {
				alone := len(values[s]) == 1 && !taken[s]
				id := spelled(typ, v.value, s)
				switch {
				case !v.shared && (!alone || len(claimants[v]) > 1):
					continue
				case !alone:
					id = unused(taken, s+"-"+hash(v.value))
				}
				taken[feature.FoldedRegionID(id)] = true
				for _, i := range claimants[v] {
					ids[i], claims[i].level = id, level+1
				}
			}
		}
	}
	assignNames(typ, claims, ids, taken, spotOf)
	return ids
}

// assignNames gives ids to the claims that still have none.
func assignNames(typ string, claims []claim, ids []string, taken map[string]bool, spotOf func(i int) spot) {
	named := map[string][]int{} // by the slug of their fallback
	for i, c := range claims {
		if ids[i] == "" {
			s := slug(c.fallback)
			named[s] = append(named[s], i)
		}
	}
	for _, s := range slices.Sorted(maps.Keys(named)) {
		group := named[s]
		base := s
		if s == "" {
			base = slug(typ)
		}
		if s != "" && len(group) == 1 && !taken[s] {
			ids[group[0]], taken[s] = s, true
			continue
		}
		spots := make(map[int]spot, len(group))
		near := map[string]int{}
		for _, i := range group {
			spots[i] = spotOf(i)
			near[spots[i].near]++
		}
		slices.SortStableFunc(group, func(a, b int) int { return strings.Compare(spots[a].exact, spots[b].exact) })
		for _, i := range group {
			id := base + "-" + spots[i].near
			if near[spots[i].near] > 1 || taken[id] {
				id += "-" + spots[i].exact
			}
			ids[i] = unused(taken, id)
			taken[ids[i]] = true
		}
	}
}

// unused returns an id that is not taken; if necessary, it appends a number.
func unused(taken map[string]bool, base string) string {
	id := base
	for n := 2; taken[id]; n++ {
		id = base + "-" + strconv.Itoa(n)
	}
	return id
}

func hash(text string) string {
	h := fnv.New32a()
	h.Write([]byte(text))
	return fmt.Sprintf("%08x", h.Sum32())
}

// spotOf returns the geohash of a geometry's middle, to about a kilometre, and a hash of all its
// vertices. The hash does not depend on the file's order of vertices.
func spotOf(g orb.Geometry) spot {
	box := orb.Bound{Min: orb.Point{math.Inf(1), math.Inf(1)}, Max: orb.Point{math.Inf(-1), math.Inf(-1)}}
	var exact uint32
	for _, p := range polygonsOf(g) {
		for _, r := range p {
			for _, pt := range r[:len(r)-1] {
				if math.Abs(pt[0]) > 180 { // normalize, so that the same shape has one hash
					pt[0] -= math.Copysign(360, pt[0])
				}
				box = box.Extend(pt)
				h := fnv.New32a()
				fmt.Fprintf(h, "%.6f %.6f", pt[0]+0, pt[1]+0) // no −0
				exact += h.Sum32()
			}
		}
	}
	middle := box.Center()
	return spot{geohash(middle[0], middle[1], 6), fmt.Sprintf("%08x", exact)}
}

// geohash returns the usual code of a position: alternating bits of longitude and latitude, five
// bits per letter.
func geohash(lon, lat float64, letters int) string {
	const alphabet = "0123456789bcdefghjkmnpqrstuvwxyz"
	x, y := [2]float64{-180, 180}, [2]float64{-90, 90}
	code := make([]byte, letters)
	for i := range code {
		var bits byte
		for bit := range 5 {
			half, v := &x, lon
			if (5*i+bit)%2 == 1 {
				half, v = &y, lat
			}
			middle := (half[0] + half[1]) / 2
			bits <<= 1
			if v >= middle {
				bits |= 1
				half[0] = middle
			} else {
				half[1] = middle
			}
		}
		code[i] = alphabet[bits]
	}
	return string(code)
}

// plain replaces letters that Unicode does not decompose into a base and a mark.
var plain = strings.NewReplacer(
	"ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "ł", "l", "đ", "d", "ð", "d",
	"þ", "th", "ħ", "h", "ı", "i", "ŋ", "ng", "ə", "a", "'", "", "’", "", "ʼ", "", "ʻ", "", "‘", "",
)

// slug folds text to [a-z0-9-]: lower case, without accents, everything else a
// hyphen, none at the ends or doubled. Text of other scripts gives "".
func slug(text string) string {
	var b strings.Builder
	hyphen := false
	for _, r := range plain.Replace(strings.ToLower(norm.NFKD.String(text))) {
		switch {
		case 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
			if hyphen && b.Len() > 0 {
				b.WriteByte('-')
			}
			hyphen = false
			b.WriteRune(r)
		case unicode.Is(unicode.Mn, r):
		default:
			hyphen = true
		}
		if b.Len() >= maxID {
			break
		}
	}
	return b.String()
}

// clean makes a text from a file fit to show: control characters, such as the
// carriage return in Natural Earth's "Lake\rBaikal", and runs of white space
// become one blank.
func clean(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
}
