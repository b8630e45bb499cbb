package job

import (
	"regexp"
	"strings"
)

// languageProperty matches a property that holds a name in a language: name_de in Natural Earth,
// name:de and name:zh-Hant in OpenStreetMap.
var languageProperty = regexp.MustCompile(`^name(?:_([a-z]{2}|zht)|:([a-z]{2,3}(?:-[a-z0-9]{2,8})*))$`)

// LanguageOf returns the language of a property's name, in lower case, or "".
func LanguageOf(property string) string {
	switch m := languageProperty.FindStringSubmatch(strings.ToLower(property)); {
	case m == nil:
		return ""
	case m[1] == "zht":
		return "zh-hant"
	case m[1] != "":
		return m[1]
	default:
		return m[2]
	}
}
