package ipcsv

import (
	"fmt"
	"slices"
	"strings"
)

// Column is the content of a column: First, Last, Network or PrefixLength, or a field of a record
// by its path, such as "country.iso_code". Other columns are Skip, and ExtraPrefix followed by the name
// under which the value is stored.
type Column string

// These are the columns of addresses.
const (
	First   Column = "first"   // address of a range
	Last    Column = "last"    // address of a range
	Network Column = "network" // in CIDR notation, or an address alone
	// PrefixLength is the rest of a network whose address is in another column: the length of its
	// prefix, a netmask or a wildcard mask.
	PrefixLength Column = "prefix_length"
	// Address is a Network that is a single address by default. It occurs only in lists of columns
	// that users give. A Table has Network instead.
	Address Column = "address"
)

// Skip is a column that is ignored.
const Skip Column = "-"

// ExtraPrefix is the name prefix of all other columns.
const ExtraPrefix = "extra."

// These are the columns of records.
const (
	Continent      Column = "continent" // a code or, if longer, a name
	ContinentCode  Column = "continent.code"
	ContinentName  Column = "continent.names.en"
	Country        Column = "country" // a code or, beside CountryCode, a name
	CountryCode    Column = "country.iso_code"
	CountryName    Column = "country.names.en"
	Region         Column = "region" // ISO 3166-2 code, or else a name
	RegionCode     Column = "subdivisions.0.iso_code"
	RegionName     Column = "subdivisions.0.names.en"
	DistrictCode   Column = "subdivisions.1.iso_code"
	DistrictName   Column = "subdivisions.1.names.en"
	City           Column = "city.names.en"
	Postal         Column = "postal.code"
	Latitude       Column = "location.latitude"
	Longitude      Column = "location.longitude"
	Radius         Column = "location.accuracy_radius"
	Metro          Column = "location.metro_code"
	TimeZone       Column = "location.time_zone"
	ASN            Column = "traits.autonomous_system_number" // 64512 or AS64512
	ASOrganization Column = "traits.autonomous_system_organization"
	// ProxyType is a type of proxy as IP2Proxy writes it, such as VPN or TOR.
	ProxyType        Column = "proxy_type"
	Place            Column = "geoname_id" // of the place, in a Locations file
	RegisteredPlace  Column = "registered_country.geoname_id"
	RepresentedPlace Column = "represented_country.geoname_id"
)

// IsValue reports whether a column has a value about addresses, and not addresses themselves.
func IsValue(c Column) bool {
	switch c {
	case First, Last, Network, PrefixLength, Address, Skip:
		return false
	}
	return true
}

// traits lists the columns that contain a trait. Each has the name of its trait.
const traits = "connection_type domain isp mobile_country_code mobile_network_code organization static_ip_score user_count user_type " +
	"is_anonymous is_anonymous_vpn is_anycast is_hosting_provider is_legitimate_proxy is_public_proxy " +
	"is_residential_proxy is_satellite_provider is_tor_exit_node"

// columnNames maps the names of columns in real lists to columns.
var columnNames = func() map[string]Column {
	m := make(map[string]Column)
	add := func(c Column, names string) {
		m[squeezed(string(c))] = c
		for name := range strings.FieldsSeq(names) {
			m[squeezed(name)] = c
		}
	}
	add(First, "start from start_ip ip_start range_start ip_range_start ip_from from_ip first_ip first_address "+
		"start_address network_start_ip network_start_integer")
	add(Last, "end to end_ip ip_end range_end ip_range_end ip_to to_ip last_ip last_address end_address network_last_ip network_last_integer")
	add(Network, "cidr prefix ip_prefix ip subnet ip_address ip_network netblock")
	add(PrefixLength, "prefix_len mask netmask net_mask subnet_mask network_mask mask_length mask_len mask_bits wildcard "+
		"wildcard_mask host_mask")
	add(Address, "")
	add(Continent, "")
	add(ContinentCode, "continent_code")
	add(ContinentName, "continent_name")
	add(Country, "")
	add(CountryCode, "country_code country_iso_code iso_code alpha2code alpha_2 iso2 cc")
	add(CountryName, "country_name")
	add(Region, "")
	add(RegionCode, "region_code subdivision_1_iso_code")
	add(RegionName, "region_name state state1 stateprov state_prov province subdivision_1_name")
	add(DistrictCode, "subdivision_2_iso_code")
	add(DistrictName, "state2 district subdivision_2_name")
	add(City, "city city_name")
	add(Postal, "postal postcode postal_code zip zip_code zipcode")
	add(Latitude, "latitude lat")
	add(Longitude, "longitude lng lon long")
	add(Radius, "accuracy_radius radius")
	add(Metro, "metro_code dma_code")
	add(TimeZone, "timezone time_zone tz")
	add(ASN, "asn as_number autonomous_system_number")
	add(ASOrganization, "as_name as_org as_organization as_description asn_name org autonomous_system_organization")
	add(ProxyType, "")
	add(Place, "")
	add(RegisteredPlace, "registered_country_geoname_id")
	add(RepresentedPlace, "represented_country_geoname_id")
	for name := range strings.FieldsSeq(traits) {
		add(Column("traits."+name), name)
	}
	add("traits.isp", "carrier_name")
	add("traits.mobile_country_code", "mcc")
	add("traits.mobile_network_code", "mnc")
	add("traits.is_anonymous_vpn", "vpn is_vpn")
	add("traits.is_hosting_provider", "hosting is_hosting")
	add("traits.is_public_proxy", "proxy is_proxy")
	add("traits.is_satellite_provider", "satellite is_satellite")
	add("traits.is_tor_exit_node", "tor is_tor")
	m[string(Skip)] = Skip
	return m
}()

// ColumnNamed returns the column for a name used by lists, or "" if there is none.
func ColumnNamed(name string) Column { return columnNames[squeezed(name)] }

// squeezed returns a name in the form of a key: countryCode and country_code give the same key.
func squeezed(name string) string { return strings.ReplaceAll(name, "_", "") }

const (
	// maxColumns bounds the columns of a file, and maxName the length of a name of a column under
	// extra.
	maxColumns = 100
	maxName    = 64
)

// ParseColumns reads a list of column names separated by commas, as
// "first,last,country,-,city,extra.carrier". A name with a value, such as "country=DE", is not a
// column of the list: the value applies to all rows.
func ParseColumns(list string) ([]Column, error) {
	var columns, names []Column
	for i, entry := range strings.Split(list, ",") {
		name, value, fixed := strings.Cut(entry, "=")
		name = columnName(name)
		c := ColumnNamed(name)
		known := c != ""
		if rest, ok := strings.CutPrefix(name, ExtraPrefix); ok && rest != "" && len(rest) <= maxName {
			c, known = Column(name), true
		}
		if !known || fixed && (!IsValue(c) || value == "" || strings.ContainsAny(value, "\r\n")) {
			hint := ""
			if i == 0 && !fixed {
				hint = " (if it is a value, as of country=DE,network, write it behind a column: network,country=DE)"
			}
			return nil, fmt.Errorf("%q is not a column%s; those known are network, alone or with prefix_length, address, or "+
				"first and last, and country, country_name, continent, region, city, postal, "+
				"latitude, longitude, timezone, asn, as_name and the names of GeoLite2 files; - leaves one out, extra.NAME keeps "+
				"it by a name, country=DE holds for all rows", entry, hint)
		}
		if names = append(names, c); fixed {
			c += Column("=" + value)
		}
		columns = append(columns, c)
	}
	if err := check(names); err != nil {
		return nil, err
	}
	return columns, nil
}

// fix sets the columns. Those with fixed values come last.
func (t *Table) fix(columns []Column) {
	var names []Column
	for _, c := range columns {
		if name, value, fixed := strings.Cut(string(c), "="); fixed {
			names, t.fixed = append(names, Column(name)), append(t.fixed, []byte(value))
		} else {
			if c == Address {
				c, t.single = Network, true
			}
			t.columns = append(t.columns, c)
		}
	}
	t.columns = append(t.columns, names...)
}

func check(columns []Column) error {
	if len(columns) > maxColumns {
		return fmt.Errorf("%d columns are too many; there may be %d", len(columns), maxColumns)
	}
	var first, last, network, lengths, values int
	for i, c := range columns {
		switch {
		case c == Skip:
			continue
		case slices.Contains(columns[:i], c):
			return fmt.Errorf("two columns are %s; leave one of them out with -", c)
		case c == First:
			first++
		case c == Last:
			last++
		case c == Network, c == Address:
			network++
		case c == PrefixLength:
			lengths++
		default:
			values++
		}
	}
	if first+last+network == 0 || first+network > 1 || last > first || network == 0 && last == 0 ||
		lengths > 0 && slices.Contains(columns, Address) {
		return fmt.Errorf("the addresses are in the columns first and last, or in the column network, with or without " +
			"prefix_length, or in the column address; name these, and no others for them")
	}
	if values == 0 {
		return fmt.Errorf("no column says anything of the addresses; name one, such as country")
	}
	return nil
}

// wordBreaks replaces the separators between the words of a name by underscores.
var wordBreaks = strings.NewReplacer(" ", "_", "-", "_")

// columnName returns the name of a column in a form that does not depend on how its words are
// separated.
func columnName(s string) string {
	if s = strings.ToLower(strings.TrimSpace(s)); s == string(Skip) {
		return s
	}
	return wordBreaks.Replace(s)
}
