package export

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/export/mmdb"
	"quadrille/cmd/internal/credit"
	"quadrille/ipgeo"
)

// AddressOptions select the part of the published IP ranges to export.
type AddressOptions struct {
	// Fields has the syntax of /ip?fields=. If it is empty, a CSV file has DefaultColumns, and
	// other files have the fields of DatabaseType or else all of a record.
	Fields string
	// DatabaseType and RecordSize are fields of a MaxMind DB file. If they have their zero values,
	// the content determines them. A type of GeoIP2 has fixed fields, even if it is only a part of
	// the name, as in DBIP-ASN-Lite. Fields may then name only these and extra.
	DatabaseType string
	RecordSize   int
	Memory       int64 // about how many bytes the export may take; 0 is mmdb's
	// Progress, if set, is called from time to time with the number of ranges done.
	Progress func(done, total int64)
}

// AddressStats counts the written ranges and networks of an export of addresses.
type AddressStats struct {
	Ranges   int64 // ranges of the table with at least one exported field
	Networks int64
	Skipped  int64       // ranges inside ::/96, where a MaxMind DB file has the IPv4 addresses
	Tree     *mmdb.Stats // of a MaxMind DB file
}

const recordFields = "continent,country,registered_country,represented_country,city,location,postal,subdivisions,traits,extra"

// DefaultColumns are the columns of a CSV file in addition to the network.
const DefaultColumns = "continent.code,country.iso_code,country.names.en,subdivisions.iso_code,subdivisions.names.en,city.names.en,postal.code," +
	"location.latitude,location.longitude,location.accuracy_radius,location.time_zone," +
	"traits.autonomous_system_number,traits.autonomous_system_organization"

// ErrNoNetwork is matched when an export would be empty.
var ErrNoNetwork = mmdb.ErrEmpty

// CheckAddresses returns nil if addresses can be exported to path with these options: its extension
// must name a format, it must be possible to make or replace the file, and the fields must fit the
// format.
func CheckAddresses(path string, o AddressOptions) error {
	ext := filepath.Ext(path)
	switch ext {
	case ".mmdb", ".csv", ".ndjson":
	default:
		return fmt.Errorf("%s: the name must end in .mmdb, .csv or .ndjson, which says what to write", path)
	}
	if ext != ".mmdb" && (o.RecordSize != 0 || o.DatabaseType != "") {
		return fmt.Errorf("%s: --record-size and --database-type are for .mmdb files; leave them out", path)
	}
	if ext == ".csv" {
		if _, _, err := columns(o.Fields); err != nil {
			return err
		}
	} else if _, err := chosen(o.Fields); err != nil {
		return err
	}
	if _, err := o.typed(); err != nil {
		return err
	}
	return checkPlace(path)
}

// databaseTypes are the types of GeoIP2. Each has the part of a name by which clients recognise it,
// and its fields; "" means all fields of a record. If a name has several such parts, the first in
// this order counts: there is a DBIP-Location-ISP.
var databaseTypes = []struct{ name, fields string }{
	{"Enterprise", ""},
	{"City", ""},
	{"Location", ""},
	{"Country", "continent,country,registered_country,represented_country,traits.is_anycast"},
	{"Anonymous-IP", anonymous},
	{"Anonymous-Plus", anonymous},
	{"Connection-Type", "traits.connection_type"},
	{"Domain", "traits.domain"},
	{"Static-IP-Score", "traits.static_ip_score"},
	{"ISP", systems + ",traits.isp,traits.organization,traits.mobile_country_code,traits.mobile_network_code"},
	{"ASN", systems},
}

const (
	systems   = "traits.autonomous_system_number,traits.autonomous_system_organization"
	anonymous = "traits.is_anonymous,traits.is_anonymous_vpn,traits.is_hosting_provider,traits.is_public_proxy,traits.is_residential_proxy,traits.is_tor_exit_node"
)

// typed returns the options with the fields of the type. A client that queries a database of one
// type would find nothing in the fields of another type, and would take that for an answer.
func (o AddressOptions) typed() (AddressOptions, error) {
	_, name, compatible := strings.Cut(strings.TrimSuffix(o.DatabaseType, ")"), "(compat=")
	if !compatible {
		name = o.DatabaseType
	}
	for _, t := range databaseTypes {
		if name != t.name && !strings.Contains("-"+name+"-", "-"+t.name+"-") {
			continue
		}
		if o.Fields == "" {
			o.Fields = t.fields
			return o, nil
		}
		for field := range strings.SplitSeq(o.Fields, ",") {
			if t.fields != "" && top(field) != "extra" &&
				!slices.ContainsFunc(strings.Split(t.fields, ","), func(f string) bool { return within(f, field) || within(field, f) }) {
				return o, fmt.Errorf("--database-type %s: clients of this type look for %s, and not for %s; leave --fields out, "+
					"or give another type", o.DatabaseType, t.fields, field)
			}
		}
		return o, nil
	}
	if strings.HasPrefix(name, "GeoIP2-") || strings.HasPrefix(name, "GeoLite2-") {
		var known []string
		for _, t := range databaseTypes {
			known = append(known, t.name)
		}
		return o, fmt.Errorf("--database-type %s: what its clients look for is not known; those known end in %s; or give a "+
			"type of your own", o.DatabaseType, strings.Join(known, ", "))
	}
	return o, nil
}

// within reports whether a field is another or a part of it.
func within(field, of string) bool {
	return field == of || strings.HasPrefix(field, of+".")
}

// chosen reads a list of fields that belong to a record.
func chosen(list string) (ipgeo.Fields, error) {
	if list == "" {
		list = recordFields
	}
	f, err := ipgeo.ParseFields(list)
	if err != nil {
		return f, err
	}
	for name := range strings.SplitSeq(list, ",") {
		switch name {
		case "ip", "source", "traits.network", "traits.ip_address":
			return f, fmt.Errorf("--fields %s: it belongs to an answer, not to a network; leave it out, every row has its network", name)
		}
	}
	return f, nil
}

// WriteAddresses exports the ranges of a generation to a file. The extension of its name decides
// the format. The file appears when it is complete. The error is ErrNoNetwork if no range has any
// of the fields.
func WriteAddresses(ctx context.Context, r *ipgeo.Reader, m *dataset.Manifest, path string, o AddressOptions) (AddressStats, error) {
	if err := CheckAddresses(path, o); err != nil {
		return AddressStats{}, err
	}
	o, err := o.typed()
	if err != nil {
		return AddressStats{}, err
	}
	var meta ipgeo.Meta
	if err := json.Unmarshal(m.Meta, &meta); err != nil {
		return AddressStats{}, fmt.Errorf("manifest of generation %d: %w", m.Generation, err)
	}
	a := &addresses{r: r, total: meta.Rows4 + meta.Rows6, progress: o.Progress}
	switch filepath.Ext(path) {
	case ".csv":
		return a.writeCSV(ctx, path, o)
	case ".ndjson":
		return a.writeNDJSON(ctx, path, o)
	}
	return a.writeMMDB(ctx, m, path, o)
}

// addresses is an iteration over the ranges of a table.
type addresses struct {
	r        *ipgeo.Reader
	total    int64
	progress func(done, total int64)
	stats    AddressStats
}

// each calls write for the ranges in ascending order, IPv4 before IPv6. Adjacent ranges with the
// same record are joined. pick appends the record of a range; ranges for which it appends nothing
// are left out. The record is valid until write returns.
func (a *addresses) each(ctx context.Context, pick func(dst []byte, res *ipgeo.Result) ([]byte, error),
	write func(span ipgeo.Span, record []byte) error) error {
	var span ipgeo.Span
	var record, next []byte
	done := int64(0)
	flush := func() error {
		if !span.First.IsValid() || len(record) == 0 {
			return nil
		}
		return write(span, record)
	}
	for res, err := range a.r.All(ctx) {
		if err != nil {
			return err
		}
		const often = 1 << 14
		if done++; done%often == 0 && a.progress != nil {
			a.progress(done, a.total)
		}
		if next, err = pick(next[:0], res); err != nil {
			return fmt.Errorf("%s: %w", res.Network, err)
		}
		if len(next) > 0 {
			a.stats.Ranges++
		}
		if bytes.Equal(record, next) && span.Extend(res.First, res.Last) {
			continue
		}
		if err := flush(); err != nil {
			return err
		}
		span = ipgeo.Span{First: res.First, Last: res.Last}
		record, next = next, record
	}
	if err := flush(); err != nil {
		return err
	}
	if a.stats.Networks == 0 {
		return ErrNoNetwork
	}
	return nil
}

// afterIPv4 is the first address after ::/96, where a MaxMind DB file holds IPv4.
var afterIPv4 = netip.MustParseAddr("::1:0:0")

func (a *addresses) writeMMDB(ctx context.Context, m *dataset.Manifest, path string, o AddressOptions) (stats AddressStats, err error) {
	fields, err := chosen(o.Fields)
	if err != nil {
		return stats, err
	}
	kind := kindOf(o.Fields, fields)
	kind.database = o.DatabaseType
	w, err := mmdb.Create(path, mmdb.Options{RecordSize: o.RecordSize, Memory: o.Memory, Shape: kind.shape})
	if err != nil {
		return stats, err
	}
	defer func() { err = errors.Join(err, w.Abort()) }()
	err = a.each(ctx, func(dst []byte, res *ipgeo.Result) ([]byte, error) {
		dst = res.AppendRecord(append(dst, '{'), fields)
		if len(dst) == 1 {
			return dst[:0], nil
		}
		kind.seen(res)
		return append(dst, '}'), nil
	}, func(span ipgeo.Span, record []byte) error {
		if span.First.Is6() && span.First.Less(afterIPv4) {
			if a.stats.Skipped++; span.Last.Less(afterIPv4) {
				return nil
			}
			span.First = afterIPv4
		}
		d, err := w.Put(record)
		if err != nil {
			return fmt.Errorf("%s: %w", span.First, err)
		}
		for p := range ipgeo.Networks(span.First, span.Last) {
			if err := w.Add(p, d); err != nil {
				return err
			}
			a.stats.Networks++
		}
		return nil
	})
	if err != nil {
		return stats, err
	}
	if o.DatabaseType == "" {
		o.DatabaseType = kind.name()
	}
	tree, err := w.Finish(mmdb.Info{Type: o.DatabaseType, Description: describeSources(m), Built: m.Built})
	a.stats.Tree = &tree
	return a.stats, err
}

// describeSources returns a text with the sources of the ranges and their licences.
func describeSources(m *dataset.Manifest) string {
	text := fmt.Sprintf("IP geolocation, generation %d of Quadrille", m.Generation)
	for i, s := range m.Sources {
		if i == 0 {
			text += ", from "
		} else {
			text += "; "
		}
		text += s.Name
		if s.Attribution != "" {
			text += " (" + credit.AsText(s.Attribution) + ")"
		}
	}
	const most = 2000
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

// kind is the subject of a database. The database type is named after it, so that clients know
// which fields they can read.
type kind struct {
	flat          bool // only traits and fields of a source's own: traits stand alone as in GeoIP2's ASN, ISP and Anonymous-IP
	asn           bool
	city, country bool // may be in records
	hasCity       bool
	hasCountry    bool
	database      string // the requested type
}

func kindOf(list string, f ipgeo.Fields) *kind {
	k := &kind{flat: list != ""}
	k.asn = k.flat
	for name := range strings.SplitSeq(list, ",") {
		k.flat = k.flat && (slices.Contains([]string{"traits", "extra"}, top(name)))
		k.asn = k.asn && strings.HasPrefix(name, "traits.autonomous_system_")
	}
	k.city = f.Has("city") || f.Has("location") || f.Has("postal") || f.Has("subdivisions")
	k.country = f.Has("country") || f.Has("continent") || f.Has("registered_country") || f.Has("represented_country")
	return k
}

// top returns the top-level member of a record that contains a field.
func top(field string) string {
	name, _, _ := strings.Cut(field, ".")
	return name
}

func (k *kind) seen(res *ipgeo.Result) {
	k.hasCity = k.hasCity || k.city && len(res.CityJSON()) > 0
	k.hasCountry = k.hasCountry || k.country && len(res.CountryJSON()) > 0
}

func (k *kind) name() string {
	switch {
	case k.hasCity:
		return "Quadrille-City"
	case k.hasCountry:
		return "Quadrille-Country"
	case k.asn:
		return "Quadrille-ASN"
	}
	return "Quadrille-Traits"
}

// named gives traits the names and the meaning that they have in a database of GeoIP2: in such a
// database, an address of any kind of anonymous network is anonymous.
func (k *kind) named(traits map[string]json.RawMessage) {
	if score := traits["static_ip_score"]; score != nil && strings.Contains(k.database, "Static-IP-Score") {
		traits["score"] = score
		delete(traits, "static_ip_score")
	}
	if !strings.Contains(k.database, "Anonymous-") {
		return
	}
	for path := range strings.SplitSeq(anonymous, ",") {
		if traits[strings.TrimPrefix(path, "traits.")] != nil {
			traits["is_anonymous"] = json.RawMessage("true")
		}
	}
}

// members are the members of a record of GeoIP2. A source's own fields do not replace them.
var members = strings.Split(recordFields, ",")

// shape makes the object of a MaxMind DB file from a record. A source's own fields are at the same
// level as the others, as in publishers' databases, unless the name is taken.
func (k *kind) shape(record []byte) ([]byte, error) {
	if !k.flat && !bytes.Contains(record, []byte(`"extra":`)) {
		return record, nil
	}
	var all, extra, traits map[string]json.RawMessage
	if err := json.Unmarshal(record, &all); err != nil {
		return nil, err
	}
	for part, of := range map[string]*map[string]json.RawMessage{"extra": &extra, "traits": &traits} {
		if all[part] == nil || part == "traits" && !k.flat {
			continue
		}
		if err := json.Unmarshal(all[part], of); err != nil {
			return nil, err
		}
		delete(all, part)
	}
	k.named(traits)
	maps.Copy(all, traits)
	rest := map[string]json.RawMessage{}
	for name, v := range extra {
		if all[name] == nil && !slices.Contains(members, name) {
			all[name] = v
		} else {
			rest[name] = v
		}
	}
	if len(rest) > 0 {
		b, err := json.Marshal(rest)
		if err != nil {
			return nil, err
		}
		all["extra"] = b
	}
	return json.Marshal(all)
}
