package web

import (
	"strings"
	"testing"
)

func TestCheckCacheControl(t *testing.T) {
	for _, good := range []string{
		"public, max-age=300", "no-store", "No-Cache", "max-age=0,s-maxage=31536000, immutable", "private, must-revalidate",
		`no-cache="Set-Cookie"`,
		"no-store, no-cache, must-revalidate, max-age=0", "public, max-age=60, stale-while-revalidate=30, stale-if-error=86400",
		"no-transform,proxy-revalidate,must-understand",
	} {
		if err := CheckCacheControl(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for bad, want := range map[string]string{
		"max_age=60":           "did you mean max-age?",
		`"public, max-age=60"`: "did you mean public?",
		"max-age=60s":          "seconds",
		"max-age":              "seconds",
		`max-age="60"`:         "seconds",
		"max-age=-1":           "seconds",
		"max-age=+1":           "seconds",
		"max-age=99999999999":  "seconds",
		"max-age = 60":         "directive",
		"public max-age=60":    "directive",
		"public; max-age=60":   "directive",
		"":                     "empty",
		" ":                    "empty",
		"public,":              "directive",
		",":                    "directive",
		"public=1":             "no value",
		"public, private":      "contradict",
		"max-age=1, max-age=2": "twice",
		"no-cache=Set-Cookie":  "quotes",
		`private="a`:           "quotes",
		"max-age=1\nX: y":      "seconds",
		"cache":                "directive",
	} {
		if err := CheckCacheControl(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", bad, err, want)
		}
	}
}
