package job

import (
	"regexp"
	"strings"

	"golang.org/x/text/language"
)

// languageProperty matches a property that holds a name in a language: name_de in Natural Earth,
// name:de and name:zh-Hant in OpenStreetMap, name:deu_x_preferred in Who's On First.
var languageProperty = regexp.MustCompile(`^name(?:_([a-z]{2}|zht)|:([a-z]{2,3}(?:-[a-z0-9]{2,8})*)|:([a-z]{3})_x_preferred)$`)

// LanguageOf returns the language of a property's name, in lower case, or "". Codes of three letters are those of ISO 639-3,
// and are two letters here if the language has such a code.
func LanguageOf(property string) string {
	switch m := languageProperty.FindStringSubmatch(strings.ToLower(property)); {
	case m == nil:
		return ""
	case m[1] == "zht":
		return "zh-hant"
	case m[1] != "":
		return m[1]
	case m[3] != "":
		return shortest(m[3])
	default:
		return shortest(m[2])
	}
}

// shortest returns a code of three letters as two, if there are such.
func shortest(code string) string {
	if base, err := language.ParseBase(code); err == nil && len(code) == 3 {
		return base.String()
	}
	return code
}
