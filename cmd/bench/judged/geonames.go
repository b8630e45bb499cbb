package judged

import (
	"archive/zip"
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Rows reads a table with tabs between its cells, packed by zip or plain. Lines that begin
// with # and the readme of an archive are left out.
func Rows(file string) (rows [][]string, err error) {
	read := func(r io.Reader) error {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if line := strings.TrimSuffix(lines.Text(), "\r"); line != "" && line[0] != '#' {
				rows = append(rows, strings.Split(line, "\t"))
			}
		}
		return lines.Err()
	}
	if filepath.Ext(file) != ".zip" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return rows, read(f)
	}
	z, err := zip.OpenReader(file)
	if err != nil {
		return nil, err
	}
	defer z.Close() //nolint:errcheck // only read
	for _, member := range z.File {
		if member.Name == "readme.txt" {
			continue
		}
		r, err := member.Open()
		if err == nil {
			err = read(r)
			r.Close()
		}
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// Place is a row of GeoNames.
type Place struct {
	ID             int
	Name, ASCII    string
	Lat, Lon       float64
	Code           string // of the feature, such as PPLC
	Country        string
	Admin1, Admin2 string // GeoNames' codes of its divisions
	Population     int64
	Modified       string
}

// Division returns GeoNames' code of a row's division at a level: US, US.MI and US.MI.163. It
// returns "" if the row names none.
func (p *Place) Division(level Level) string {
	switch {
	case level == Country:
		return p.Country
	case level == State && p.Admin1 != "" && p.Admin1 != "00":
		return p.Country + "." + p.Admin1
	case level == County && p.Admin1 != "" && p.Admin2 != "" && p.Admin2 != "00":
		return p.Country + "." + p.Admin1 + "." + p.Admin2
	}
	return ""
}

// Places reads tables of GeoNames. If a place has several rows, the latest counts. Of several rows
// of the same day the first counts.
func Places(files ...string) ([]Place, error) {
	var list []Place
	index := map[int]int{}
	for _, file := range files {
		rows, err := Rows(file)
		if err != nil {
			return nil, err
		}
		for _, c := range rows {
			if len(c) != 19 || c[6] != "P" {
				continue
			}
			p := Place{Name: c[1], ASCII: c[2], Code: c[7], Country: c[8], Admin1: c[10], Admin2: c[11], Modified: c[18]}
			p.ID, _ = strconv.Atoi(c[0]) // no answer has the 0 of an unreadable id
			p.Lat, _ = strconv.ParseFloat(c[4], 64)
			p.Lon, _ = strconv.ParseFloat(c[5], 64)
			p.Population, _ = strconv.ParseInt(c[14], 10, 64)
			i, known := index[p.ID]
			switch {
			case !known:
				index[p.ID] = len(list)
				list = append(list, p)
			case p.Modified > list[i].Modified:
				list[i] = p
			}
		}
	}
	return list, nil
}

// CountryInfo is a row of GeoNames' countryInfo.txt.
type CountryInfo struct {
	ISO, ISO3, Numeric, Name, Language string // the first of its languages, without region
	Population                         int64
	ID                                 string
}

// Countries reads countryInfo.txt, without the two countries in it that no longer exist.
func Countries(file string) ([]CountryInfo, error) {
	rows, err := Rows(file)
	if err != nil {
		return nil, err
	}
	var list []CountryInfo
	for _, c := range rows {
		if len(c) < 17 || c[0] == "AN" || c[0] == "CS" {
			continue
		}
		info := CountryInfo{ISO: c[0], ISO3: c[1], Numeric: c[2], Name: c[4], ID: c[16]}
		first, _, _ := strings.Cut(c[15], ",")
		info.Language, _, _ = strings.Cut(first, "-")
		info.Population, _ = strconv.ParseInt(c[7], 10, 64)
		list = append(list, info)
	}
	return list, nil
}
