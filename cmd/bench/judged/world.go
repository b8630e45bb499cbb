package judged

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// World is the content of the publishers' files in a set.
type World struct {
	Layers    [Levels]*Layer
	Lakes     *Layer // nil where the set has no lakes
	Places    []Place
	Countries []CountryInfo
	Airports  []Airport // the large ones

	byID map[int]*Place
	grid map[[2]int][]*Place // by square degree
}

// Place returns a row of GeoNames, or nil.
func (w *World) Place(id int) *Place { return w.byID[id] }

// Airport is a large airport of OurAirports' table or of the sample.
type Airport struct {
	Name, IATA string
	Lat, Lon   float64
}

// ReadWorld reads the publishers' files of a set; sample is the directory of the demo's.
func (o *Options) ReadWorld(set, sample string) (w *World, err error) {
	w = &World{}
	geonames := filepath.Join(o.Full, "geonames")
	meta := filepath.Join(geonames, "meta")
	large := []string{filepath.Join(geonames, "cities15000.zip"), filepath.Join(geonames, "cities5000.zip")}
	borders := filepath.Join(o.Full, "natural-earth", "10m", "ne_10m_admin_")
	files := [Levels]string{borders + "0_countries.geojson.gz", borders + "1_states_provinces.geojson.gz", borders + "2_counties.geojson.gz"}
	info, tables, airports := filepath.Join(meta, "countryInfo.txt"), large, filepath.Join(o.Full, "airports", "ourairports-airports.csv.gz")
	var objects [Levels]string
	if set == Demo {
		packages := filepath.Join(sample, "node_modules")
		atlas := filepath.Join(packages, "us-atlas")
		files = [Levels]string{
			filepath.Join(packages, "world-atlas", "countries-10m.json"),
			filepath.Join(atlas, "states-10m.json"),
			filepath.Join(atlas, "counties-10m.json"),
		}
		objects = [Levels]string{"countries", "states", "counties"}
		build := filepath.Join(sample, "build")
		info, tables, airports = filepath.Join(build,
			"countryInfo.txt"), []string{filepath.Join(build, "places.txt")}, filepath.Join(sample, "airports.csv")
		if w.Lakes, err = ReadLayer(filepath.Join(build, "lakes.json"), "", describeLake); err != nil {
			return nil, err
		}
	}
	if w.Countries, err = Countries(info); err != nil {
		return nil, err
	}
	if w.Places, err = Places(tables...); err != nil {
		return nil, err
	}
	if w.Airports, err = readAirports(airports); err != nil {
		return nil, err
	}
	describe := [Levels]func(string, func(...string) string) *Region{w.describeCountry, w.describeState, describeCounty}
	for level, file := range files {
		if w.Layers[level], err = ReadLayer(file, objects[level], describe[level]); err != nil {
			return nil, err
		}
	}
	if set == Demo {
		if err := w.addCounties(large); err != nil {
			return nil, err
		}
	}
	w.Finish()
	return w, w.nameDivisions(meta)
}

// Finish prepares the data after reading: the index of places, and the divisions of regions.
func (w *World) Finish() {
	w.index()
	w.agree()
}

// addCounties gives places of the demo's table the second-level divisions of GeoNames' larger
// tables, because the demo has other codes. Without these tables the rows do not name counties. A
// message says so, because the recorded results were made with the tables.
func (w *World) addCounties(tables []string) error {
	rows, err := Places(tables...)
	if errors.Is(err, os.ErrNotExist) {
		fmt.Fprintf(os.Stderr, "the counties of places are not judged by their rows: %v; name the publishers' files with --full\n", err)
	} else if err != nil {
		return err
	}
	county := map[int]string{}
	for i := range rows {
		county[rows[i].ID] = rows[i].Admin2
	}
	for i := range w.Places {
		p := &w.Places[i]
		p.Admin2 = ""
		if p.Country == "US" {
			p.Admin2 = county[p.ID]
		}
	}
	return nil
}

func square(lon, lat float64) [2]int { return [2]int{int(math.Floor(lon)), int(math.Floor(lat))} }

func (w *World) index() {
	w.byID, w.grid = make(map[int]*Place, len(w.Places)), map[[2]int][]*Place{}
	for i := range w.Places {
		p := &w.Places[i]
		w.byID[p.ID] = p
		w.grid[square(p.Lon, p.Lat)] = append(w.grid[square(p.Lon, p.Lat)], p)
	}
}

// Near calls visit with the places of the square degrees around a point, and their distances
// in metres. It knows no neighbours across ±180°.
func (w *World) Near(lon, lat float64, visit func(p *Place, metres float64)) {
	at := square(lon, lat)
	for x := -1; x <= 1; x++ {
		for y := -1; y <= 1; y++ {
			for _, p := range w.grid[[2]int{at[0] + x, at[1] + y}] {
				visit(p, Metres(lon, lat, p.Lon, p.Lat))
			}
		}
	}
}

// Metres returns the distance in metres of two points that are near each other.
func Metres(lon1, lat1, lon2, lat2 float64) float64 {
	east := math.Remainder(lon2-lon1, 360) * math.Cos((lat1+lat2)/2*math.Pi/180)
	return math.Hypot(east, lat2-lat1) / metre
}

// agree gives each region the code of a GeoNames division. At least three rows in the region's
// polygons must name that division, and these must be four fifths of all rows there that name one.
// If the rows do not decide, a state or county of the United States gets the division of its own
// code.
func (w *World) agree() {
	for level, layer := range w.Layers {
		for _, r := range layer.Regions {
			r.Division = divisionOfCode(Level(level), r)
			count, all := map[string]int{}, 0
			box := r.box()
			for x := math.Floor(box.west); x <= box.east; x++ {
				for y := math.Floor(box.south); y <= box.north; y++ {
					for _, p := range w.grid[[2]int{int(math.Remainder(x+0.5, 360) - 0.5), int(y)}] {
						if d := p.Division(Level(level)); d != "" && r.Holds(p.Lon, p.Lat) {
							count[d]++
							all++
						}
					}
				}
			}
			for d, n := range count {
				if n >= 3 && n*5 >= all*4 {
					r.Division = d
				}
			}
		}
	}
}

func divisionOfCode(level Level, r *Region) string {
	switch {
	case len(r.Codes) == 0 || r.Country != "US":
	case level == State:
		return "US." + strings.ToUpper(r.Codes[0][3:])
	case level == County && len(r.Codes[0]) == 5:
		return "US." + Letters(r.Codes[0]) + "." + r.Codes[0][2:]
	}
	return ""
}

// nameDivisions adds GeoNames' names of divisions to the names of regions, if GeoNames' files
// exist.
func (w *World) nameDivisions(meta string) error {
	names := map[string][]string{}
	for _, file := range []string{"admin1CodesASCII.txt", "admin2Codes.txt"} {
		rows, err := Rows(filepath.Join(meta, file))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for _, c := range rows {
			if len(c) >= 3 {
				names[c[0]] = []string{c[1], c[2]}
			}
		}
	}
	for _, c := range w.Countries {
		names[c.ISO] = []string{c.Name}
	}
	for _, layer := range w.Layers {
		for _, r := range layer.Regions {
			r.Names = append(r.Names, names[r.Division]...)
		}
		layer.indexNames()
	}
	return nil
}

// describeCountry reads Natural Earth's columns, or the numeric code of world-atlas. Natural
// Earth's ISO_A2_EH gives some territories the code of their sovereign. Then the three-letter code
// in the same row is not the code of the territory.
func (w *World) describeCountry(id string, text func(...string) string) *Region {
	r := &Region{Names: []string{text("name"), text("name_long"), text("admin"), text("name_en"), text("formal_en")}}
	own, three := text("iso_a2"), text("iso_a3_eh")
	if len(own) != 2 && (three == "" || three == text("adm0_a3")) {
		own = text("iso_a2_eh")
	}
	for _, c := range w.Countries {
		if c.Numeric == id && id != "" || c.ISO == "XK" && text("name") == "Kosovo" {
			own = c.ISO
		}
	}
	if len(own) == 2 {
		r.Codes, r.Country = []string{own}, own
		for _, c := range w.Countries {
			if c.ISO == own {
				r.Names = append(r.Names, c.Name)
			}
		}
	} else {
		r.Codes = []string{text("adm0_a3")}
	}
	return r
}

func (w *World) describeState(id string, text func(...string) string) *Region {
	r := &Region{
		Kind:    text("type_en"),
		Country: text("iso_a2"),
		Names:   []string{text("name"), text("name_en"), text("gn_name"), text("woe_name"), text("gns_name")},
	}
	for _, list := range []string{text("name_alt"), text("name_local")} {
		r.Names = append(r.Names, strings.Split(list, "|")...)
	}
	if letters := Letters(id); letters != "" {
		r.Country, r.Kind, r.Codes = "US", "State", []string{"US-" + letters}
		if id >= "60" {
			r.Country, r.Kind = letters, "Territory" // ISO 3166 has it as a country
		}
		return r
	}
	if code := text("iso_3166_2"); len(code) > 3 {
		r.Codes = append(r.Codes, code)
	}
	r.Codes = append(r.Codes, text("adm1_code"))
	for _, c := range w.Countries {
		if c.ISO3 == text("adm0_a3") && len(r.Country) != 2 {
			r.Country = c.ISO
		}
	}
	return r
}

func describeCounty(id string, text func(...string) string) *Region {
	if fips := text("fips"); fips != "" {
		id = fips
	}
	if id == "" {
		return nil
	}
	r := &Region{Names: []string{text("name")}, Codes: []string{id}, Country: "US"}
	if id >= "60" {
		r.Country = Letters(id)
	}
	return r
}

func describeLake(_ string, text func(...string) string) *Region {
	return &Region{Names: []string{text("name")}}
}

// fips are the numbers and letters of the 50 states, the District of Columbia and five
// territories.
const fips = "01AL02AK04AZ05AR06CA08CO09CT10DE11DC12FL13GA15HI16ID17IL18IN19IA20KS21KY22LA23ME24MD25MA26MI27MN28MS29MO30MT31NE32NV33NH34NJ35NM36NY37NC38ND39OH40OK41OR42PA44RI45SC46SD47TN48TX49UT50VT51VA53WA54WV55WI56WY60AS66GU69MP72PR78VI"

// Letters returns the postal letters of a state of the United States, by the number of the state or
// of one of its counties.
func Letters(number string) string {
	for i := 0; i+4 <= len(fips) && len(number) >= 2; i += 4 {
		if fips[i:i+2] == number[:2] {
			return fips[i+2 : i+4]
		}
	}
	return ""
}

func readAirports(file string) (list []Airport, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var in io.Reader = bufio.NewReader(f)
	if strings.HasSuffix(file, ".gz") {
		if in, err = gzip.NewReader(f); err != nil {
			return nil, err
		}
	}
	rows := csv.NewReader(in)
	column := map[string]int{}
	for {
		cells, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		if len(column) == 0 {
			for i, name := range cells {
				column[name] = i
			}
			continue
		}
		if cells[column["type"]] == "large_airport" {
			a := Airport{Name: cells[column["name"]], IATA: cells[column["iata_code"]]}
			a.Lat, _ = strconv.ParseFloat(cells[column["latitude_deg"]], 64)
			a.Lon, _ = strconv.ParseFloat(cells[column["longitude_deg"]], 64)
			list = append(list, a)
		}
	}
}
