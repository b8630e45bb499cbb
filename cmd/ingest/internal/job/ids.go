package job

import (
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxID is the longest region id made, in bytes, before a suffix.
const maxID = 80

// candidate is a value that a region's id may be made of.
type candidate struct {
	value string // as in the source; empty when there is none
	// shared says that features with this value are one region. A candidate
	// that is not shared is good only if a single feature claims it.
	shared bool
}

// claim is what one feature has to be named by: candidates in order of
// preference, with the same meaning at the same index for all features of a
// layer, and a text, usually its name, for when none is good.
type claim struct {
	candidates []candidate
	fallback   string
}

// assignIDs gives every claim the id made of its first candidate that is good:
// lower case and URL-safe, [a-z0-9-]. Claims with one id are one region. Those
// with no good candidate get a slug of the name, or of the type, with a number
// where that is taken. The result depends on the claims and their order alone.
func assignIDs(typ string, claims []claim) []string {
	ids := make([]string, len(claims))
	taken := map[string]bool{}
	last := map[string]int{} // number of the last suffix tried, by base
	free := func(base string) string {
		id := base
		for n := max(2, last[base]+1); taken[id]; n++ {
			id, last[base] = base+"-"+strconv.Itoa(n), n
		}
		return id
	}
	levels := 0
	for _, c := range claims {
		levels = max(levels, len(c.candidates))
	}
	for level := range levels {
		claimants := map[candidate][]int{}
		slugs := map[string]int{} // how many different values make this slug
		var order []candidate
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
				order = append(order, v)
				slugs[s]++
			}
			claimants[v] = append(claimants[v], i)
		}
		for _, v := range order {
			id := slug(v.value)
			if v.shared {
				id = free(id)
			} else if len(claimants[v]) > 1 || slugs[id] > 1 || taken[id] {
				continue
			}
			taken[id] = true
			for _, i := range claimants[v] {
				ids[i] = id
			}
		}
	}
	unnamed := 0
	for i, c := range claims {
		if ids[i] != "" {
			continue
		}
		base := slug(c.fallback)
		if base == "" {
			unnamed++
			base = slug(typ) + "-" + strconv.Itoa(unnamed)
		}
		ids[i] = free(base)
		taken[ids[i]] = true
	}
	return ids
}

// letters that Unicode does not decompose into a base and a mark.
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
