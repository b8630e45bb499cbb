package job

import "testing"

func TestLanguageOf(t *testing.T) {
	for property, want := range map[string]string{
		"name_de": "de", "NAME_RU": "ru", "NAME_ZHT": "zh-hant", "name:zh-Hant": "zh-hant", "name:gsw": "gsw",
		"name:deu_x_preferred": "de", "NAME:gsw_x_preferred": "gsw", "name:deu_x_variant": "", "name:deu": "de",
		"name": "", "name_alt": "", "NAME_LEN": "", "name_long": "", "surname_de": "", "name:": "", "name:Old name": "",
	} {
		if got := LanguageOf(property); got != want {
			t.Errorf("%s: %q, want %q", property, got, want)
		}
	}
}
