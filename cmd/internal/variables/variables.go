// Package variables lists the environment variables of both programs. Both may get the same file of
// variables, so a variable that one program does not have may belong to the other. A variable that
// belongs to neither program is a mistake, which would otherwise go unnoticed.
package variables

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"quadrille/cmd/internal/nearest"
)

// Prefix is the prefix of the names of all variables.
const Prefix = "QUADRILLE"

// Tileserver are the variables that set flags of tileserver.
var Tileserver = []string{
	"QUADRILLE_ACCESS_LOG", "QUADRILLE_ACCESS_LOG_SAMPLE", "QUADRILLE_ADDRESS_LIMIT", "QUADRILLE_ADMIN_LISTEN",
	"QUADRILLE_ANONYMOUS", "QUADRILLE_BACKUP_DIR", "QUADRILLE_BASEMAP", "QUADRILLE_BASE_PATH", "QUADRILLE_BATCH_BYTES",
	"QUADRILLE_BATCH_LINES",
	"QUADRILLE_BATCH_TIMEOUT", "QUADRILLE_CACHE", "QUADRILLE_CACHE_CONTROL", "QUADRILLE_CLOCK_SKEW", "QUADRILLE_CONFIG",
	"QUADRILLE_CORS_ORIGIN", "QUADRILLE_COUNTRY_OF", "QUADRILLE_DATA", "QUADRILLE_DRAIN_DELAY", "QUADRILLE_DRAIN_TIMEOUT",
	"QUADRILLE_EMPTY_TILE", "QUADRILLE_FORWARDED_HEADER", "QUADRILLE_GEOIP_KEYS", "QUADRILLE_GLYPHS", "QUADRILLE_HOOKS_PRIVATE",
	"QUADRILLE_IDLE_TIMEOUT", "QUADRILLE_IP_INDEX", "QUADRILLE_KEYS", "QUADRILLE_KEY_LIMIT", "QUADRILLE_LIMIT",
	"QUADRILLE_LISTEN", "QUADRILLE_LIVE", "QUADRILLE_LOG_FORMAT", "QUADRILLE_MAX_COLLECTIONS", "QUADRILLE_MAX_CONCURRENT",
	"QUADRILLE_MAX_CONNECTIONS",
	"QUADRILLE_OTLP_ENDPOINT", "QUADRILLE_PIN_TILES", "QUADRILLE_PROXY_PROTOCOL_FROM",
	"QUADRILLE_PUBLIC_METRICS", "QUADRILLE_PUBLIC_URL", "QUADRILLE_READ_TIMEOUT", "QUADRILLE_REQUEST_TIMEOUT", "QUADRILLE_REQUIRE",
	"QUADRILLE_ROOT_GEOCODER", "QUADRILLE_SLOW_REQUEST", "QUADRILLE_SOCKET_MODE", "QUADRILLE_STORE", "QUADRILLE_TLS_CERT",
	"QUADRILLE_TLS_KEY", "QUADRILLE_TRACE_SAMPLE", "QUADRILLE_TRUSTED_PROXY", "QUADRILLE_USAGE",
	"QUADRILLE_USAGE_CLIENTS", "QUADRILLE_WRITE_TIMEOUT",
}

// Ingest are the variables that set flags of ingest and its commands.
var Ingest = []string{
	"QUADRILLE_AS", "QUADRILLE_ATTRIBUTION", "QUADRILLE_BOUNDARIES_ALLOW_EMPTY", "QUADRILLE_BOUNDARIES_BBOX", "QUADRILLE_BOUNDARIES_ENCODING",
	"QUADRILLE_BOUNDARIES_ID", "QUADRILLE_BOUNDARIES_NAME", "QUADRILLE_BOUNDARIES_NAMELESS", "QUADRILLE_BOUNDARIES_PATCH",
	"QUADRILLE_BOUNDARIES_PROPERTY", "QUADRILLE_BOUNDARIES_SET",
	"QUADRILLE_CHECK", "QUADRILLE_CHECKSUMS", "QUADRILLE_COLUMNS", "QUADRILLE_CONTACT", "QUADRILLE_DATA",
	"QUADRILLE_DATABASE_TYPE", "QUADRILLE_DERIVE", "QUADRILLE_DOWNLOADS", "QUADRILLE_DROP_ZERO", "QUADRILLE_DRY_RUN",
	"QUADRILLE_FIELDS", "QUADRILLE_FORCE", "QUADRILLE_GENERATION", "QUADRILLE_INGEST_CONFIG", "QUADRILLE_IP",
	"QUADRILLE_IP_FILE", "QUADRILLE_JSON", "QUADRILLE_KEEP", "QUADRILLE_KEEP_PRIVATE", "QUADRILLE_KEY_FILE", "QUADRILLE_LAYER",
	"QUADRILLE_LICENSE", "QUADRILLE_LONG_EDGES", "QUADRILLE_MAX_BAD", "QUADRILLE_MAX_CHANGE", "QUADRILLE_MAX_DOWNLOAD",
	"QUADRILLE_MAX_ZOOM", "QUADRILLE_MEMORY", "QUADRILLE_MIN_ZOOM", "QUADRILLE_MIRROR", "QUADRILLE_ONLY", "QUADRILLE_PARALLEL",
	"QUADRILLE_PLACES", "QUADRILLE_POINTS_ALLOW_EMPTY", "QUADRILLE_POINTS_AXIS_ORDER", "QUADRILLE_POINTS_BBOX", "QUADRILLE_POINTS_COLUMNS",
	"QUADRILLE_POINTS_DATE_ORDER", "QUADRILLE_POINTS_DECIMAL", "QUADRILLE_POINTS_EMPTY", "QUADRILLE_POINTS_ENCODING",
	"QUADRILLE_POINTS_HEADER", "QUADRILLE_POINTS_ID", "QUADRILLE_POINTS_LAT", "QUADRILLE_POINTS_LAYER", "QUADRILLE_POINTS_LON",
	"QUADRILLE_POINTS_NAME", "QUADRILLE_POINTS_PRIVATE", "QUADRILLE_POINTS_REPEATED", "QUADRILLE_POINTS_SEARCH",
	"QUADRILLE_POINTS_TITLE", "QUADRILLE_POINTS_TYPE", "QUADRILLE_POINTS_VALUES_OF", "QUADRILLE_POINTS_ZONE", "QUADRILLE_PRUNE_GRACE", "QUADRILLE_PRUNE_KEEP",
	"QUADRILLE_QUIET", "QUADRILLE_RECORD_SIZE", "QUADRILLE_SAMPLE", "QUADRILLE_SCALE", "QUADRILLE_STORE",
	"QUADRILLE_TILE_BUDGET", "QUADRILLE_TO", "QUADRILLE_WORLDVIEW",
}

// tests are the variables that tests and benchmarks read.
var tests = []string{
	"QUADRILLE_CITE", "QUADRILLE_CLIENTS", "QUADRILLE_CLIENTS_DATA", "QUADRILLE_DEMO_DATA", "QUADRILLE_FULL",
	"QUADRILLE_GEOIP2_JAVA", "QUADRILLE_GEOIP2_NODE",
	"QUADRILLE_GEOPY", "QUADRILLE_HBASE", "QUADRILLE_HBASE_CONTROL", "QUADRILLE_HBASE_FAULTS",
	"QUADRILLE_HBASE_REQUIRED", "QUADRILLE_MAXMINDDB", "QUADRILLE_MLT_FIXTURES", "QUADRILLE_NAMES", "QUADRILLE_PICTURES",
	"QUADRILLE_PLACES", "QUADRILLE_PMTILES", "QUADRILLE_PYTHON", "QUADRILLE_PYTHON_MLT",
	"QUADRILLE_SCREENSHOTS",
	"QUADRILLE_SEARCH_PLACES", "QUADRILLE_SMOOTH", "QUADRILLE_SMOOTH_TASKS", "QUADRILLE_TEST_INHERITED",
}

// serviceLink matches variables, without the prefix, that Kubernetes sets in every container for a
// service whose name begins with quadrille. They are not meant as flags.
var serviceLink = regexp.MustCompile(`^([A-Z0-9_]+_)?(PORT=[a-z]+://.*|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?=.*|SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)=.*)$`)

// Unknown returns an error for every variable in environ, in the form of [os.Environ], that has
// the prefix and belongs to neither program. The error suggests the likely name.
func Unknown(environ []string) []error {
	known := slices.Concat(Tileserver, Ingest, tests)
	short := make([]string, len(known)) // the comparison leaves out the prefix
	for i, name := range known {
		short[i] = strings.TrimPrefix(name, Prefix+"_")
	}
	var errs []error
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		own, ours := strings.CutPrefix(name, Prefix+"_")
		if !ours || slices.Contains(known, name) || serviceLink.MatchString(strings.TrimPrefix(v, Prefix+"_")) {
			continue
		}
		if meant, ok := nearest.Name(own, short); ok {
			errs = append(errs, fmt.Errorf("the environment variable %s sets nothing: did you mean %s_%s?", name, Prefix, meant))
		} else {
			errs = append(errs, fmt.Errorf("the environment variable %s sets nothing: unset it, or see --help for the names", name))
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errs
}
