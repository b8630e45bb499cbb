// Package iso3166 has the countries of ISO 3166-1 with their English names, their usual continents,
// and whether European Union law treats them as part of the Union. Sources of IP ranges contain
// only the codes.
package iso3166

import (
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
)

// Country is the information about a code.
type Country struct {
	Code string // two capital letters
	Name string // in English, as in CLDR; "" if the code has none
	// Continent is AF, AN, AS, EU, NA, OC or SA; "" when unknown.
	Continent string
	// EU reports whether the place belongs to the European Union.
	EU bool
}

// Assigned reports whether the code belongs to a country. EU and AP do not, nor do reserved codes
// such as FX.
func (c Country) Assigned() bool { return c.Continent != "" && c.Code != "EU" }

// Lookup returns the information about a code, in either case of letters, and whether the code is
// valid. Two letters without a country are a valid code without a name. The exceptions ZZ and XX
// mean "unknown" and are not valid. Three codes in IP data are not codes of countries:
//
//   - EU, for an address that is somewhere in Europe, has a continent;
//   - AP, for an address somewhere in Asia or the Pacific, has no continent,
//     because the address may be in Asia or Oceania;
//   - UK is taken as GB.
//
// EU and AP stay as they are. The source has no better information, and for a client that shows or
// counts codes they are more useful than nothing.
func Lookup(code string) (Country, bool) {
	if len(code) != 2 {
		return Country{}, false
	}
	b := [2]byte{code[0] &^ 0x20, code[1] &^ 0x20}
	if !isLetter(code[0]) || !isLetter(code[1]) {
		return Country{}, false
	}
	code = string(b[:])
	switch code {
	case "ZZ", "XX":
		return Country{}, false
	case "UK":
		code = "GB"
	}
	return Country{Code: code, Name: name(code), Continent: continents[code], EU: in(union, code)}, true
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// ContinentName returns the English name of a continent, or "".
func ContinentName(code string) string {
	switch code {
	case "AF":
		return "Africa"
	case "AN":
		return "Antarctica"
	case "AS":
		return "Asia"
	case "EU":
		return "Europe"
	case "NA":
		return "North America"
	case "OC":
		return "Oceania"
	case "SA":
		return "South America"
	}
	return ""
}

// name returns CLDR's name. The exceptions are names that have changed since the compiled-in
// release, and a few names with an addition that everyday use omits ("Hong Kong SAR China").
func name(code string) string {
	switch code {
	case "AN":
		return "Netherlands Antilles"
	case "AP":
		return "Asia/Pacific Region"
	case "CD":
		return "DR Congo"
	case "CG":
		return "Congo Republic"
	case "EU":
		return "Europe"
	case "HK":
		return "Hong Kong"
	case "MK":
		return "North Macedonia"
	case "MM":
		return "Myanmar"
	case "MO":
		return "Macao"
	case "PS":
		return "Palestine"
	case "SZ":
		return "Eswatini"
	case "TR":
		return "Türkiye"
	}
	region, err := language.ParseRegion(code)
	if err != nil || !region.IsCountry() {
		return ""
	}
	return display.English.Regions().Name(region)
}

func in(list, code string) bool {
	i := strings.Index(list, code)
	return i >= 0 && i%3 == 0
}

// union lists the member states of the European Union. It also lists their parts that have separate
// codes and are subject to the Union's treaties: Åland, and the outermost regions of France (TFEU,
// Article 349).
const union = "AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK " +
	"AX GF GP MF MQ RE YT"

// continents gives the continent by code. In cases of doubt it follows GeoNames and GeoIP2: Russia
// and Cyprus are in Europe; Türkiye, the Caucasus and Kazakhstan are in Asia.
var continents = func() map[string]string {
	m := make(map[string]string)
	for continent, codes := range map[string]string{
		"AF": "AO BF BI BJ BW CD CF CG CI CM CV DJ DZ EG EH ER ET GA GH GM GN GQ GW KE KM LR LS LY MA MG ML MR MU MW MZ NA " +
			"NE NG RE RW SC SD SH SL SN SO SS ST SZ TD TG TN TZ UG YT ZA ZM ZW",
		"AN": "AQ BV GS HM TF",
		"AS": "AE AF AM AZ BD BH BN BT CC CN CX GE HK ID IL IN IO IQ IR JO JP KG KH KP KR KW KZ LA LB LK MM MN MO MV MY NP " +
			"OM PH PK PS QA SA SG SY TH TJ TM TR TW UZ VN YE",
		"EU": "AD AL AT AX BA BE BG BY CH CY CZ DE DK EE ES EU FI FO FR GB GG GI GR HR HU IE IM IS IT JE LI LT LU LV MC MD " +
			"ME MK MT NL NO PL PT RO RS RU SE SI SJ SK SM UA VA XK",
		"NA": "AG AI AN AW BB BL BM BQ BS BZ CA CR CU CW DM DO GD GL GP GT HN HT JM KN KY LC MF MQ MS MX NI PA PM PR SV SX TC TT US VC VG VI",
		"OC": "AS AU CK FJ FM GU KI MH MP NC NF NR NU NZ PF PG PN PW SB TK TL TO TV UM VU WF WS",
		"SA": "AR BO BR CL CO EC FK GF GY PE PY SR UY VE",
	} {
		for code := range strings.FieldsSeq(codes) {
			m[code] = continent
		}
	}
	return m
}()
