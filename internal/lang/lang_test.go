package lang

import (
	"strings"
	"testing"
)

func TestChain(t *testing.T) {
	for code, want := range map[string]string{
		"de": "de", "DE": "DE de", "fr-CH": "fr-CH fr", "fr-ch": "fr-ch fr-CH fr",
		"zh-TW":      "zh-TW zh-Hant zh",
		"zh-HK":      "zh-HK zh-Hant zh",
		"zh-MO":      "zh-MO zh-Hant-HK zh-Hant zh",
		"zh-CN":      "zh-CN zh-Hans zh",
		"zh":         "zh zh-Hans",
		"zh-Hans":    "zh-Hans zh",
		"zh_hant_tw": "zh_hant_tw zh_Hant_TW zh-Hant-TW zh-Hant zh",
		"iw":         "iw he", "in": "in id", "ji": "ji yi", "deu": "deu de", "sh": "sh sr-Latn",
		"sr-Latn": "sr-Latn", "sr-ME": "sr-ME sr-Latn", "sr-RS": "sr-RS sr", "uz-Cyrl": "uz-Cyrl",
		"es-MX": "es-MX es-419 es", "nb": "nb no", "no": "no nb", "be-tarask": "be-tarask be",
		"xx-YY": "xx-YY xx", "not a code": "not a code", "": "",
	} {
		for range 2 {
			if got := strings.Join(FallbackChain(code), " "); got != want {
				t.Errorf("%s: %s, want %s", code, got, want)
			}
		}
	}
}

// TestChainIsBounded tests that the cache of FallbackChain is bounded for any sequence of codes.
func TestChainIsBounded(t *testing.T) {
	for i := range 3 * maxKept {
		FallbackChain("de-" + strings.Repeat("x", i%40) + string(rune('a'+i%26)) + strings.Repeat("y", i/40%300))
	}
	if n := len(kept.chains); n > maxKept {
		t.Errorf("%d are kept", n)
	}
}

func FuzzChain(f *testing.F) {
	f.Add("zh-TW")
	f.Add("x-y-z_")
	f.Fuzz(func(t *testing.T, code string) {
		if list := chain(code); code != "" && list[0] != code || len(list) > 2*len(code)+4 {
			t.Errorf("%q: %q", code, list)
		}
	})
}

func BenchmarkChain(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		FallbackChain("zh-TW")
	}
}
