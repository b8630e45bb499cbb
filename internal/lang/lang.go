// Package lang determines the languages in which to look up a name for a requested language, and
// the language that is spoken in a country.
package lang

import (
	"slices"
	"strings"
	"sync"

	"golang.org/x/text/language"
)

// maxKept bounds the cached chains. Browsers send some hundred different codes.
const maxKept = 4096

var kept = struct {
	sync.RWMutex
	chains map[string][]string
}{chains: map[string][]string{}}

// FallbackChain returns the codes by which a name is looked up, one after the other, for a code such as
// "zh-TW". Its subtags follow "-" or "_", in either letter case. First comes the given code, then
// its current form ("he" for "iw"), then its parents in CLDR ("zh-Hant"), and then only the
// language, unless this implies another script: Serbian in Latin script must not become Serbian in
// Cyrillic script. "zh" alone may be in either script. A text that is not a code gets only itself
// and its prefixes at "-" or "_". The list is shared: do not change it.
func FallbackChain(code string) []string {
	kept.RLock()
	list := kept.chains[code]
	kept.RUnlock()
	if list != nil {
		return list
	}
	list = chain(code)
	kept.Lock()
	defer kept.Unlock()
	if len(kept.chains) == maxKept {
		clear(kept.chains)
	}
	kept.chains[strings.Clone(code)] = list
	return list
}

// IsLatin reports whether a language is usually written in Latin letters.
func IsLatin(code string) bool {
	tag, err := language.Parse(code)
	script, _ := tag.Script()
	return err == nil && script.String() == "Latn"
}

func chain(code string) (list []string) {
	add := func(code string) {
		if code != "" && !slices.Contains(list, code) {
			list = append(list, code)
		}
	}
	add(strings.Clone(code))
	add(usualCase(code))
	tag, err := language.Parse(code)
	if err != nil || tag == language.Und {
		for rest := usualCase(code); rest != ""; rest = rest[:max(strings.LastIndexAny(rest, "-_"), 0)] {
			add(rest)
		}
		return list
	}
	script, _ := tag.Script()
	for ; tag != language.Und; tag = tag.Parent() {
		if tag.String() != "zh" {
			add(tag.String())
		}
		base, _ := tag.Base()
		if tag.Parent() != language.Und {
			continue
		}
		if base.String() == "zh" {
			add("zh-" + script.String()) // the form in which sources distinguish it
			add("zh")
		} else if own, _ := language.Make(base.String()).Script(); own == script {
			add(base.String())
			add(same[base.String()])
		}
	}
	return list
}

// IsLocal reports whether most people of a country speak a language, by CLDR's likely
// subtags. The language is a code such as "de" or "zh-Hant", the country an ISO 3166-1
// alpha-2 code.
func IsLocal(code, country string) bool {
	if code == "" || len(country) != 2 {
		return false
	}
	code, _, _ = strings.Cut(code, "-")
	spoken := spokenIn()[country]
	return spoken != "" && (code == spoken || code == same[spoken])
}

// spokenIn has the first language of each country.
var spokenIn = sync.OnceValue(func() map[string]string {
	list := map[string]string{}
	for a := 'A'; a <= 'Z'; a++ {
		for b := 'A'; b <= 'Z'; b++ {
			country := string([]rune{a, b})
			region, err := language.ParseRegion(country)
			if err != nil || !region.IsCountry() {
				continue
			}
			tag, _ := language.Compose(region)
			if base, sure := tag.Base(); sure != language.No {
				list[country] = base.String()
			}
		}
	}
	return list
})

// same maps a code to another code that sources use for the same language.
var same = map[string]string{"nb": "no", "no": "nb"}

// usualCase returns a code in the usual case of codes: zh-Hant-TW.
func usualCase(code string) string {
	b, from := []byte(strings.ToLower(code)), 0
	for i := range len(b) + 1 {
		if i < len(b) && b[i] != '-' && b[i] != '_' {
			continue
		}
		switch part := b[from:i]; {
		case from == 0:
		case len(part) == 2:
			copy(part, strings.ToUpper(string(part)))
		case len(part) == 4:
			copy(part, strings.ToUpper(string(part[:1])))
		}
		from = i + 1
	}
	return string(b)
}
