package enrich

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"quadrille/ask"
	"quadrille/feature"
	"quadrille/ipgeo"
)

// ipFields are short names of fields of the record of an IP address.
var ipFields = map[string]string{
	"country":      "country.iso_code",
	"country_name": "country.names.en",
	"city":         "city.names.en",
	"postal":       "postal.code",
	"lat":          "location.latitude",
	"lon":          "location.longitude",
	"timezone":     "location.time_zone",
	"asn":          "traits.autonomous_system_number",
	"organization": "traits.autonomous_system_organization",
}

// ReasonNoAddress is the reason of a cell that is not an IP address.
const ReasonNoAddress = "not an IP address"

// ipSource makes columns of the record of an IP address.
type ipSource struct {
	reader ask.AddressReader
	column string
	fields []string // paths in the record
	names  []string // of the columns
}

// IP returns a Source of what is known of the IP address in a column of the table. Fields are paths such as city.names.de,
// or country (its ISO code), country_name, city, postal, lat, lon, timezone, asn and organization. If none is
// given, they are country, city and asn. The columns are called ip_FIELD. Cells are empty for
// addresses of which nothing is known, such as private ones.
func IP(v ask.View, column string, fields ...string) (Source, error) {
	s := &ipSource{column: column}
	var err error
	if s.reader, err = v.Addresses.Get(); err != nil {
		return nil, fmt.Errorf("%s: %w", ask.AddressesName, err)
	}
	if len(fields) == 0 {
		fields = []string{"country", "city", "asn"}
	}
	for _, f := range fields {
		path, short := ipFields[f]
		if !short {
			if _, err := ipgeo.ParseFields(f); err != nil {
				return nil, err
			}
			path = f
		}
		s.fields = append(s.fields, path)
		s.names = append(s.names, "ip_"+strings.ReplaceAll(f, ".", "_"))
	}
	return s, nil
}

func (s *ipSource) Inputs() []string { return []string{s.column} }

func (s *ipSource) Columns() (list []Column) {
	for i, name := range s.names {
		raw := false
		switch s.fields[i] {
		case ipFields["lat"], ipFields["lon"], ipFields["asn"]:
			raw = true
		}
		list = append(list, Column{Name: name, Raw: raw})
	}
	return list
}

func (s *ipSource) filler() fill {
	var res ipgeo.Result
	return func(ctx context.Context, c *Chunk, out []Cells) error {
		for i := range c.Points {
			if c.isFull(out) {
				break
			}
			text := string(bytes.TrimSpace(c.Inputs[0].At(i)))
			if text == "" {
				addEmpty(out)
				continue
			}
			addr, err := ipgeo.ParseAddr(text)
			if err == nil {
				err = s.reader.Lookup(ctx, addr, &res)
			}
			switch {
			case err == nil:
				s.add(out, &res)
				continue
			case errors.Is(err, ipgeo.ErrBadAddress):
				if c.Bad != nil {
					c.Bad(i, ReasonNoAddress, text)
				}
			case !errors.Is(err, ipgeo.ErrNotFound) && !errors.Is(err, ipgeo.ErrReserved):
				return err
			}
			addEmpty(out)
		}
		return nil
	}
}

// add adds the cells of a record.
func (s *ipSource) add(out []Cells, res *ipgeo.Result) {
	for k, path := range s.fields {
		value := res.Field(path)
		if len(value) > 0 && value[0] == '"' {
			value = feature.TextOf(value)
		}
		out[k].AddBytes(value)
	}
}
