package enrich

import (
	"fmt"
	"testing"
)

// Names with colons, commas and quotes can be told apart.
func TestSplitFields(t *testing.T) {
	for text, want := range map[string]string{
		`ip`:                       `"ip" []`,
		`ip:country`:               `"ip" ["country"]`,
		`ip: country , city,`:      `"ip" ["country" "city"]`,
		`client:ip:country`:        `"client:ip" ["country"]`,
		`"client:ip"`:              `"client:ip" []`,
		`"client:ip":country,city`: `"client:ip" ["country" "city"]`,
		`"a ""b"":c":d`:            `"a \"b\":c" ["d"]`,
		`shops:"a:b",c`:            `"shops" ["a:b" "c"]`,
		`shops:c, "a:b"`:           `"shops" ["c" "a:b"]`,
		`shops:c,"a, ""b"": c" `:   `"shops" ["c" "a, \"b\": c"]`,
		`5" pipe:country`:          `"5\" pipe" ["country"]`,
		`"ip`:                      `"ip: the quotes are not closed`,
		`"ip"x`:                    `"\"ip\"x": there is "x" after the quotes where :FIELDS should be`,
		`shops:5" pipe`:            `5" pipe: write a name with quotes as in CSV, "5"" pipe"`,
		`shops:"a"b`:               `there is "b" after quotes where a comma should be`,
		``:                         `"" []`,
	} {
		name, fields, err := splitFields(text)
		got := fmt.Sprintf("%q %q", name, fields)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		`city`: `["city"]`, `city, country`: `["city" "country"]`, `"city, town",country`: `["city, town" "country"]`, `,"",`: `[]`, `"a""b"`: `["a\"b"]`,
	} {
		if names, err := splitNames(text); err != nil || fmt.Sprintf("%q", names) != want {
			t.Errorf("%s: %q, %v, want %s", text, names, err, want)
		}
	}
}
