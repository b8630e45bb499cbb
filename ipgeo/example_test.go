package ipgeo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"os"

	"quadrille/cellstore/dataset"
	"quadrille/cellstore/pebblestore"
	"quadrille/cellstore/published"
	"quadrille/ipgeo"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Build ranges in any order; a lookup then takes one seek.
func Example() {
	ctx := context.Background()
	store, err := pebblestore.Open("ip", &pebblestore.Options{FS: vfs.NewMem()})
	if err != nil {
		panic(err)
	}
	defer store.Close()

	var ranges iter.Seq2[ipgeo.Range, error] = func(yield func(ipgeo.Range, error) bool) {
		for _, r := range []struct{ first, last, code, name string }{
			{"9.9.0.0", "9.9.255.255", "CH", "Switzerland"},
			{"9.9.9.0", "9.9.9.255", "FR", "France"}, // inside the one above: the narrowest wins
		} {
			if !yield(ipgeo.Range{
				First:  netip.MustParseAddr(r.first),
				Last:   netip.MustParseAddr(r.last),
				Record: ipgeo.Record{Country: ipgeo.Country{ISOCode: r.code, Names: ipgeo.Names{"en": r.name}}},
			}, nil) {
				return
			}
		}
	}
	meta, _, err := ipgeo.Build(ctx, store, ranges, ipgeo.BuildOptions{})
	if err != nil {
		panic(err)
	}

	reader, err := ipgeo.Open(ctx, store, meta)
	if err != nil {
		panic(err)
	}
	var res ipgeo.Result // reused: lookups allocate nothing
	for _, s := range []string{"9.9.9.9", "9.9.200.1", "::ffff:9.9.9.9", "8.8.8.8", "192.168.1.1"} {
		addr, err := ipgeo.ParseAddr(s)
		if err != nil {
			panic(err)
		}
		switch err := reader.Lookup(ctx, addr, &res); {
		case errors.Is(err, ipgeo.ErrNotFound), errors.Is(err, ipgeo.ErrReserved):
			fmt.Println(s, "–", err)
		case err != nil:
			panic(err)
		default:
			fmt.Println(s, res.Country, res.Network)
		}
	}
	// Output:
	// 9.9.9.9 FR 9.9.9.0/24
	// 9.9.200.1 CH 9.9.128.0/17
	// ::ffff:9.9.9.9 FR 9.9.9.0/24
	// 8.8.8.8 – no range covers the address
	// 192.168.1.1 – address is in 192.168.0.0/16, Private-Use (RFC 1918), which has no place on the map; ask about a public address
}

// publish publishes a range as ingest does.
func publish(ctx context.Context, dir string) (err error) {
	c, err := published.OpenCatalog(dir)
	if err != nil {
		return err
	}
	b, err := c.Begin(ctx, "ip")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Abort()) }()
	meta, _, err := ipgeo.Build(ctx, b.Store(), func(yield func(ipgeo.Range, error) bool) {
		yield(ipgeo.Range{
			First: netip.MustParseAddr("9.9.9.0"), Last: netip.MustParseAddr("9.9.9.255"),
			Record: ipgeo.Record{Country: ipgeo.Country{ISOCode: "FR"}},
		}, nil)
	}, ipgeo.BuildOptions{})
	if err != nil {
		return err
	}
	m := dataset.Manifest{SchemaVersion: ipgeo.Layout}
	if m.Meta, err = json.Marshal(meta); err != nil {
		return err
	}
	_, err = b.Publish(ctx, m)
	return err
}

// Look up addresses in published ranges without a server.
func ExampleOpenPublished() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "data")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := publish(ctx, dir); err != nil {
		panic(err)
	}

	g, err := published.Open(ctx, dir, "ip")
	if err != nil {
		panic(err)
	}
	defer g.Close()
	reader, err := ipgeo.OpenPublished(ctx, g)
	if err != nil {
		panic(err)
	}
	var res ipgeo.Result
	if err := reader.Lookup(ctx, netip.MustParseAddr("9.9.9.9"), &res); err != nil {
		panic(err)
	}
	fmt.Println(res.Country, res.Network)
	// Output:
	// FR 9.9.9.0/24
}

func ExampleResult_Record() {
	ctx := context.Background()
	store, err := pebblestore.Open("ip", &pebblestore.Options{FS: vfs.NewMem()})
	if err != nil {
		panic(err)
	}
	defer store.Close()
	meta, _, err := ipgeo.Build(ctx, store, func(yield func(ipgeo.Range, error) bool) {
		yield(ipgeo.Range{
			First: netip.MustParseAddr("2001:200::"), Last: netip.MustParseAddr("2001:200:ffff:ffff:ffff:ffff:ffff:ffff"),
			Record: ipgeo.Record{
				Continent: ipgeo.Continent{Code: "AS", Names: ipgeo.Names{"en": "Asia"}},
				Country:   ipgeo.Country{ISOCode: "JP", Names: ipgeo.Names{"en": "Japan"}},
			},
		}, nil)
	}, ipgeo.BuildOptions{})
	if err != nil {
		panic(err)
	}
	reader, err := ipgeo.Open(ctx, store, meta)
	if err != nil {
		panic(err)
	}
	var res ipgeo.Result
	if err := reader.Lookup(ctx, netip.MustParseAddr("2001:200::8"), &res); err != nil {
		panic(err)
	}
	fmt.Printf("{%s}\n", res.JSON)
	rec, err := res.Record()
	if err != nil {
		panic(err)
	}
	fmt.Println(rec.Country.Names["en"])
	// Output:
	// {"continent":{"code":"AS","names":{"en":"Asia"}},"country":{"iso_code":"JP","names":{"en":"Japan"}},"traits":{"network":"2001:200::/32"}}
	// Japan
}

// AppendFields returns chosen fields as JSON, without decoding the rest.
func ExampleResult_AppendFields() {
	ctx := context.Background()
	store, err := pebblestore.Open("ip", &pebblestore.Options{FS: vfs.NewMem()})
	if err != nil {
		panic(err)
	}
	defer store.Close()
	lat, lon := 46.2, 6.15
	meta, _, err := ipgeo.Build(ctx, store, func(yield func(ipgeo.Range, error) bool) {
		first, last := netip.MustParseAddr("9.9.9.0"), netip.MustParseAddr("9.9.9.255")
		_ = yield(ipgeo.Range{First: first, Last: last, Record: ipgeo.Record{
			Country:  ipgeo.Country{ISOCode: "CH", Names: ipgeo.Names{"de": "Schweiz", "en": "Switzerland"}},
			City:     ipgeo.City{Names: ipgeo.Names{"de": "Genf", "en": "Geneva", "fr": "Genève"}},
			Location: ipgeo.Location{Latitude: &lat, Longitude: &lon},
		}}, nil) && yield(ipgeo.Range{First: first, Last: last, Source: 1, Record: ipgeo.Record{
			Traits: ipgeo.Traits{AutonomousSystemNumber: 19281},
		}}, nil)
	}, ipgeo.BuildOptions{})
	if err != nil {
		panic(err)
	}
	reader, err := ipgeo.Open(ctx, store, meta)
	if err != nil {
		panic(err)
	}
	var res ipgeo.Result
	if err := reader.Lookup(ctx, netip.MustParseAddr("9.9.9.9"), &res); err != nil {
		panic(err)
	}
	fields, err := ipgeo.ParseFields("country.iso_code,city.names,traits,quadkey")
	if err != nil {
		panic(err)
	}
	fmt.Printf("{%s}\n", res.AppendFields(nil, fields, "fr"))
	fmt.Printf("%s\n", res.Field("city.names.de"))
	_, err = ipgeo.ParseFields("city.name")
	fmt.Println(err)
	// Output:
	// {"country":{"iso_code":"CH"},"city":{"names":{"en":"Geneva","fr":"Genève"}},"traits":{"autonomous_system_number":19281,"network":"9.9.9.0/24"},"quadkey":"1202212023033331"}
	// "Genf"
	// field "city.name": there is no such member of city; give names such as country.iso_code,city.names.en,traits.network
}
