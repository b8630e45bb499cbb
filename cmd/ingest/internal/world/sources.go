// Package world lists the publishers' files of all data sets, downloads them, and ingests them in
// the required order.
package world

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"quadrille/ask"
	"quadrille/cmd/ingest/internal/fetch"
	"quadrille/cmd/ingest/internal/job"
)

// Datasets are the data sets that Run ingests, in that order. builders has a
// function for each.
var Datasets = slices.DeleteFunc(ask.DatasetNames(ask.Datasets), func(name string) bool { return builders[name] == nil })

// Source is a file from a publisher.
type Source struct {
	Dataset     string
	File        fetch.File
	ApproxBytes int64      // size in bytes when the file was added to this list
	Credit      job.Credit // its owner and licence
	Layer       string     // type of region, of boundaries
	Terms       string     // where the terms of use are, when they have to be accepted
}

// Selection selects among the publishers' files.
type Selection struct {
	Datasets []string // data sets; none: all
	Scale    string   // of boundaries: 10m, 50m or 110m
	Places   string   // the GeoNames file of places: allCountries, cities500, …
	IP       string   // ip-location-db, geolite2-city, geolite2-country or none
	// Account and Key are for MaxMind.
	Account, Key string
	// Mirror is the address below which all files are available under their own names. If it is
	// empty, files come from their publishers.
	Mirror string
}

const (
	kB = 1000
	mB = 1000 * kB
)

// These are addresses of the publishers.
const (
	naturalEarth = "https://naciscdn.org/naturalearth/"
	geoNames     = "https://download.geonames.org/export/dump/"
	ourAirports  = "https://davidmegginson.github.io/ourairports-data/"
	noaa         = "https://www.ncei.noaa.gov/pub/data/noaa/"
	ipLocationDB = "https://cdn.jsdelivr.net/npm/@ip-location-db/geo-whois-asn-country/"
	maxMind      = "https://download.maxmind.com/geoip/databases/"
	maxMindTerms = "https://www.maxmind.com/en/geolite2/eula"
)

// Sources returns the files of a selection, in the order of Datasets.
func Sources(s Selection) ([]Source, error) {
	for _, name := range s.Datasets {
		if !slices.Contains(Datasets, name) {
			return nil, fmt.Errorf("--only %s: no such data set; choose from %s", name, strings.Join(Datasets, ", "))
		}
	}
	ip, err := ipSources(s)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(layers(s.Scale), placeFiles(s.Places), []Source{
		fileOf(ask.Airports.Name, job.OurAirports, ourAirports+"airports.csv", fetch.Text, 13*mB),
		fileOf(ask.Stations.Name, job.NOAA, noaa+"isd-history.csv", fetch.Text, 3*mB),
	}, ip)
	all = slices.DeleteFunc(all, func(src Source) bool { return !s.Wants(src.Dataset) })
	if s.Mirror == "" {
		return all, nil
	}
	base, err := url.Parse(s.Mirror)
	if err != nil || base.Scheme != "https" && base.Scheme != "http" || base.Host == "" || base.RawQuery != "" {
		return nil, fmt.Errorf("--mirror %q: give an http or https address without a query", s.Mirror)
	}
	for i := range all {
		f := &all[i].File
		f.URL = base.JoinPath(f.Name).String()
		f.User, f.Password = "", ""
		if f.ChecksumURL != "" {
			f.ChecksumURL = base.JoinPath(f.Name + ".sha256").String()
		}
	}
	return all, nil
}

// Wants reports whether a data set is selected.
func (s Selection) Wants(dataset string) bool {
	return len(s.Datasets) == 0 || slices.Contains(s.Datasets, dataset)
}

// fileOf returns a file under its publisher's name. The bound for its size is four times the
// present size, so that it can grow for years.
func fileOf(dataset string, credit job.Credit, address string, kind fetch.Kind, about int64) Source {
	return Source{
		Dataset: dataset, Credit: credit, ApproxBytes: about,
		File: fetch.File{URL: address, Name: address[strings.LastIndexByte(address, '/')+1:], Kind: kind, MaxBytes: max(4*about, mB)},
	}
}

// layers returns the layers that Natural Earth has at a scale.
func layers(scale string) []Source {
	var list []Source
	add := func(layer, folder, name string, about int64) {
		src := fileOf(ask.Boundaries.Name, job.NaturalEarth, naturalEarth+scale+"/"+folder+"/ne_"+scale+"_"+name+".zip", fetch.Zip, about)
		src.Layer = layer
		list = append(list, src)
	}
	switch scale {
	case "110m":
		add("country", "cultural", "admin_0_countries", 215*kB)
		add("state", "cultural", "admin_1_states_provinces", 150*kB)
		add("lake", "physical", "lakes", 40*kB)
	case "50m":
		add("country", "cultural", "admin_0_countries", 800*kB)
		add("state", "cultural", "admin_1_states_provinces", 450*kB)
		add("lake", "physical", "lakes", 250*kB)
	default:
		add("country", "cultural", "admin_0_countries", 5*mB)
		add("state", "cultural", "admin_1_states_provinces", 15*mB)
		add("county", "cultural", "admin_2_counties", 7*mB)
		add("lake", "physical", "lakes", 2*mB)
		add("timezone", "cultural", "time_zones", 2*mB)
	}
	return list
}

func placeFiles(places string) []Source {
	about := map[string]int64{
		"allCountries": 420 * mB, "cities500": 13 * mB, "cities1000": 10 * mB, "cities5000": 5 * mB, "cities15000": 3 * mB,
	}
	var list []Source
	add := func(name string, kind fetch.Kind, about int64) {
		list = append(list, fileOf(ask.Places.Name, job.GeoNames, geoNames+name, kind, about))
	}
	add(places+".zip", fetch.Zip, about[places])
	add("alternateNamesV2.zip", fetch.Zip, 200*mB)
	add("hierarchy.zip", fetch.Zip, 2*mB)
	add("adminCode5.zip", fetch.Zip, mB)
	add("countryInfo.txt", fetch.Text, 32*kB)
	add("admin1CodesASCII.txt", fetch.Text, 150*kB)
	add("admin2Codes.txt", fetch.Text, 2300*kB)
	add("featureCodes_en.txt", fetch.Text, 60*kB)
	return list
}

func ipSources(s Selection) ([]Source, error) {
	switch s.IP {
	case "none":
		return nil, nil
	case "geolite2-city", "geolite2-country":
		if s.Wants(ask.Addresses.Name) && s.Mirror == "" && (s.Account == "" || s.Key == "") {
			return nil, fmt.Errorf("--ip %s needs an account: set MAXMIND_ACCOUNT_ID and MAXMIND_LICENSE_KEY in the "+
				"environment, or take --ip ip-location-db", s.IP)
		}
		editions := []string{"GeoLite2-City", "GeoLite2-ASN"}
		if s.IP == "geolite2-country" {
			editions[0] = "GeoLite2-Country"
		}
		var list []Source
		for _, edition := range editions {
			list = append(list, Source{
				Dataset: ask.Addresses.Name, ApproxBytes: 50 * mB, Terms: maxMindTerms,
				Credit: job.Credit{
					Name:        "MaxMind " + edition,
					License:     "GeoLite2 End User License Agreement",
					Attribution: "This product includes GeoLite2 data created by MaxMind, available from https://www.maxmind.com",
				},
				File: fetch.File{
					URL:         maxMind + edition + "/download?suffix=tar.gz",
					ChecksumURL: maxMind + edition + "/download?suffix=tar.gz.sha256",
					Name:        edition + ".tar.gz", Kind: fetch.Gzip, MaxBytes: 500 * mB,
					User: s.Account, Password: s.Key,
				},
			})
		}
		return list, nil
	}
	list := []Source{
		fileOf(ask.Addresses.Name, job.IPLocationDB, ipLocationDB+"geo-whois-asn-country-ipv4.csv", fetch.Text, 15*mB),
		fileOf(ask.Addresses.Name, job.IPLocationDB, ipLocationDB+"geo-whois-asn-country-ipv6.csv", fetch.Text, 20*mB),
	}
	return list, nil
}
