package ip

import (
	"path/filepath"
	"strings"

	"quadrille/cmd/ingest/internal/job"
)

// productCredit returns the credit that publishers of well-known databases require, by the type or
// product name in the data.
func productCredit(product string) job.Credit {
	p := strings.ToLower(product)
	switch {
	case strings.HasPrefix(p, "geolite"):
		return job.Credit{License: "GeoLite2 End User License Agreement",
			Attribution: "This product includes GeoLite Data created by MaxMind, available from https://www.maxmind.com."}
	case strings.HasPrefix(p, "geoip"):
		return job.Credit{License: "commercial, MaxMind"}
	case strings.HasPrefix(p, "dbip") && strings.Contains(p, "lite"):
		return job.Credit{License: "CC-BY-4.0", Attribution: "IP Geolocation by DB-IP, https://db-ip.com"}
	case strings.HasPrefix(p, "ipinfo") && strings.Contains(p, "lite"):
		return job.Credit{License: "CC-BY-SA-4.0", Attribution: "IP address data powered by IPinfo, https://ipinfo.io"}
	}
	return job.Credit{}
}

// listCredit recognises a list by the name that its publisher uses.
func listCredit(path string) job.Credit {
	if c := job.KnownCredit(path); c != (job.Credit{}) {
		return c
	}
	base := strings.ToLower(filepath.Base(path))
	switch {
	case strings.HasPrefix(base, "dbip-") && strings.Contains(base, "lite"):
		return productCredit("dbip-lite")
	case strings.HasPrefix(base, "ip2asn"):
		return job.Credit{Name: "iptoasn.com", License: "PDDL-1.0"}
	}
	return productCredit(base)
}
