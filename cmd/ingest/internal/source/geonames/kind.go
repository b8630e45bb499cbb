package geonames

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"quadrille/cmd/ingest/internal/source"
)

// Kind is the kind of content of a GeoNames file. Its text is the word that users write.
type Kind string

// These are the known kinds of files.
const (
	KindPlaces     Kind = "places"         // allCountries, NL, cities15000, modifications-…
	KindAlternates Kind = "alternatenames" // alternateNamesV2, alternateNames
	KindAdmin1     Kind = "admin1"         // admin1CodesASCII
	KindAdmin2     Kind = "admin2"         // admin2Codes
	KindAdmin5     Kind = "admin5"         // adminCode5
	KindCountries  Kind = "countries"      // countryInfo
	KindFeatures   Kind = "features"       // featureCodes_en
	KindHierarchy  Kind = "hierarchy"      // hierarchy
	KindTimeZones  Kind = "timezones"      // timeZones
	KindLanguages  Kind = "languages"      // iso-languagecodes
	KindDeletions  Kind = "deletes"        // deletes-…
	KindRanks      Kind = "ranks"          // of another publisher: people of agglomerations, of any format of points
)

// kinds lists all kinds with their columns, for messages.
var kinds = []struct {
	kind    Kind
	columns string
}{
	{KindPlaces, "19"}, {KindAlternates, "10 or 8"}, {KindAdmin1, "4"}, {KindAdmin2, "4"}, {KindAdmin5, "2"},
	{KindCountries, "19"}, {KindFeatures, "3"}, {KindHierarchy, "3 or 2"}, {KindTimeZones, "5"}, {KindLanguages, "4"},
	{KindDeletions, "3"}, {KindRanks, "any"},
}

// ParseKind parses the text of a kind, in any case.
func ParseKind(s string) (Kind, error) {
	for _, k := range kinds {
		if strings.EqualFold(s, string(k.kind)) {
			return k.kind, nil
		}
	}
	return "", fmt.Errorf("%q is no kind of file; give one of %s", s, KindNames())
}

// KindNames returns a list of the kinds: "places, alternatenames, …".
func KindNames() string {
	var names []string
	for _, k := range kinds {
		names = append(names, string(k.kind))
	}
	return strings.Join(names, ", ")
}

// named are the names of files that imply their kind, in lower case and without .txt, .zip and the ending of a compression.
// The name of a country's file does not imply it, because the files of alternate names and postal
// codes of the country have the same name.
var named = []struct {
	kind Kind
	name *regexp.Regexp
}{
	{KindPlaces, regexp.MustCompile(`^(allcountries|no-country|cities[0-9].*|modifications-[0-9-]+)$`)},
	{KindAlternates, regexp.MustCompile(`^alternatenames(v2)?$`)},
	{KindAdmin1, regexp.MustCompile(`^admin1codesascii$`)},
	{KindAdmin2, regexp.MustCompile(`^admin2codes$`)},
	{KindAdmin5, regexp.MustCompile(`^admincode5$`)},
	{KindCountries, regexp.MustCompile(`^countryinfo$`)},
	{KindFeatures, regexp.MustCompile(`^featurecodes(_[a-z]+)?$`)},
	{KindHierarchy, regexp.MustCompile(`^hierarchy$`)},
	{KindTimeZones, regexp.MustCompile(`^timezones$`)},
	{KindLanguages, regexp.MustCompile(`^iso-languagecodes$`)},
	{KindDeletions, regexp.MustCompile(`^deletes-[0-9-]+$`)},
}

// foreign lists files of GeoNames that are not read, and the reasons.
var foreign = []struct {
	name *regexp.Regexp
	why  string
}{
	{
		regexp.MustCompile(`^alternatenames(modifications|deletes)-`),
		"holds one day's changes of alternate names, which are not applied; fetch alternateNamesV2.zip anew",
	},
	{regexp.MustCompile(`^usertags$`), "holds tags of users, which are not read; leave it out"},
	{regexp.MustCompile(`^shapes_`), "holds borders; they are for ingest boundaries"},
	{regexp.MustCompile(`^readme$`), "is a description and holds no data; leave it out"},
}

// stem returns a file's name in the form of the patterns above.
func stem(name string) string {
	s := source.CutCompression(strings.ToLower(filepath.Base(name)))
	for _, suffix := range []string{".zip", ".txt"} {
		s = strings.TrimSuffix(s, suffix)
	}
	return s
}

// kindByName returns the kind for a file's name, or "" for other names. The error is for a known
// file that no reader here supports.
func kindByName(name string) (Kind, error) {
	s := stem(name)
	for _, f := range foreign {
		if f.name.MatchString(s) {
			return "", fmt.Errorf("%s: %s", name, f.why)
		}
	}
	for _, n := range named {
		if n.name.MatchString(s) {
			return n.kind, nil
		}
	}
	return "", nil
}

var changes = regexp.MustCompile(`^modifications-`)

// IsChanges reports whether a file of places, by its name, has only the changes of one day.
func IsChanges(name string) bool { return changes.MatchString(stem(name)) }

// DeletionDate returns the day in the name of a file of deletions.
func DeletionDate(name string) (time.Time, error) {
	s, ok := strings.CutPrefix(stem(name), "deletes-")
	if t, is := date(s); ok && is {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%s: the day of the deletions is not known, which decides what they apply to; name "+
		"the file deletes-YYYY-MM-DD.txt, as GeoNames does", name)
}

// IsTableMember reports whether a file of a zip archive is a table, judging by its
// name. Archives of GeoNames may also hold descriptions and the codes of
// languages.
func IsTableMember(name string) bool {
	base := strings.ToLower(path.Base(name))
	return strings.HasSuffix(base, ".txt") && base != "readme.txt" && base != "iso-languagecodes.txt" && !strings.HasPrefix(base, ".")
}
