package web

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestLanguages(t *testing.T) {
	for list, want := range map[string][]string{
		"":                                  nil,
		"*":                                 nil,
		";;,q=x":                            nil,
		"fr":                                {"fr"},
		"fr-CH, fr;q=0.9, de;q=0.5":         {"fr-ch", "de"},
		"en;q=0.4, it;q=0.9,de":             {"de", "it", "en"},
		"it;q=0, en":                        {"en"},
		"de,fr;q=bad":                       {"de", "fr"},
		"zh-Hant-TW,zh_CN;q=0.9,zh;q=0.8":   {"zh-hant-tw", "zh-cn"},
		"fr,fr-CH;q=0.9":                    {"fr", "fr-ch"},
		"english,e,e2,d\x00e,de-,-,a b,é-x": nil,
		"DE,de,de;q=0.3":                    {"de"},
		"a1,de,fr,it,es,pt,ja":              {"de", "fr", "it", "es"},
		strings.Repeat("xx-yy-zz,", 500):    {"xx-yy-zz"},
		strings.Repeat("a", 100_000):        nil,
	} {
		r := &http.Request{Header: http.Header{"Accept-Language": {list}}}
		if got := Languages(r); !slices.Equal(got, want) {
			t.Errorf("%.60q: %q, want %q", list, got, want)
		}
	}
	twice := &http.Request{Header: http.Header{"Accept-Language": {"de;q=0.5", "fr"}}}
	if got := Languages(twice); !slices.Equal(got, []string{"fr", "de"}) {
		t.Errorf("two headers: %q", got)
	}
}

// FuzzLanguages tests that only a few short codes of languages are tried, whatever the header has.
func FuzzLanguages(f *testing.F) {
	f.Add("fr-CH, fr;q=0.9, de;q=0.5")
	f.Add("\x00,é;q=1e999")
	f.Fuzz(func(t *testing.T, list string) {
		langs := PreferredLanguages(list)
		if len(langs) > maxLanguages {
			t.Errorf("%d languages", len(langs))
		}
		for _, l := range langs {
			if !IsLanguage(l) || l != strings.ToLower(l) {
				t.Errorf("%q", l)
			}
		}
	})
}
