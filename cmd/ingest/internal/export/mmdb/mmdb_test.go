package mmdb

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oschwald/maxminddb-golang/v2"
	"pgregory.net/rapid"
)

type network struct {
	prefix netip.Prefix
	record string
}

func write(t testing.TB, path string, o Options, list []network) Stats {
	t.Helper()
	w, err := Create(path, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range list {
		d, err := w.Put([]byte(n.record))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Add(n.prefix, d); err != nil {
			t.Fatal(err)
		}
	}
	stats, err := w.Finish(Info{Type: "Test-City", Description: "test", Built: time.Unix(1e9, 0)})
	if err != nil {
		t.Fatal(err)
	}
	return stats
}

func open(t testing.TB, path string) *maxminddb.Reader {
	t.Helper()
	db, err := maxminddb.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := db.Verify(); err != nil {
		t.Fatal(err)
	}
	return db
}

// lookup returns the record that another reader finds, as JSON, or "" if there is none.
func lookup(t testing.TB, db *maxminddb.Reader, a netip.Addr) string {
	t.Helper()
	res := db.Lookup(a)
	if res.Err() != nil {
		t.Fatal(res.Err())
	}
	if !res.Found() {
		return ""
	}
	var v any
	if err := res.Decode(&v); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.mmdb")
	list := []network{
		{netip.MustParsePrefix("1.0.0.0/24"), `{"country":{"iso_code":"AU"}}`},
		{netip.MustParsePrefix("1.0.1.0/24"), `{"country":{"iso_code":"AU"}}`}, // joined with its neighbour above
		{netip.MustParsePrefix("255.255.255.255/32"), `{"country":{"iso_code":"DE"}}`},
		{netip.MustParsePrefix("2001:db8::/32"), `{"country":{"iso_code":"DE"}}`},
		{netip.MustParsePrefix("ffff::/16"), `{"city":{"names":{"en":"x","de":"y"}},"country":{"iso_code":"FR"}}`},
	}
	for _, size := range []int{0, 24, 28, 32} {
		stats := write(t, path, Options{RecordSize: size}, list)
		if want := max(size, 24); stats.RecordSize != want || stats.Networks != 5 {
			t.Errorf("record size %d: %+v", size, stats)
		}
		db := open(t, path)
		if m := db.Metadata; m.DatabaseType != "Test-City" || m.IPVersion != 6 || m.BuildEpoch != 1e9 ||
			m.Description["en"] != "test" || !slices.Equal(m.Languages, []string{"de", "en"}) || int64(m.NodeCount) != stats.Nodes {
			t.Errorf("metadata %+v", m)
		}
		for a, want := range map[string]string{
			"0.255.255.255": "", "1.0.0.0": "AU", "1.0.1.255": "AU", "1.0.2.0": "", "255.255.255.254": "", "255.255.255.255": "DE",
			"::1.0.0.0": "AU", "::ffff:1.0.0.0": "AU", "64:ff9b::100:0": "AU", "2002:100::1": "AU", "2002:200::": "", "2001::": "",
			"2001:db7:ffff:ffff:ffff:ffff:ffff:ffff": "", "2001:db8::": "DE", "2001:db9::": "", "ffff:ffff::": "FR", "fffe::": "",
		} {
			if want != "" {
				want = `{"country":{"iso_code":"` + want + `"}}`
			}
			if strings.Contains(want, "FR") {
				want = `{"city":{"names":{"de":"y","en":"x"}},` + want[1:]
			}
			if got := lookup(t, db, netip.MustParseAddr(a)); got != want {
				t.Errorf("record size %d: %s is %s, want %s", size, a, got, want)
			}
		}
		if p := db.Lookup(netip.MustParseAddr("1.0.1.1")).Prefix(); p != netip.MustParsePrefix("1.0.0.0/23") {
			t.Errorf("equal neighbours are not joined: %s", p)
		}
		var networks []string
		for r := range db.Networks() {
			networks = append(networks, r.Prefix().String())
		}
		if want := []string{"1.0.0.0/23", "255.255.255.255/32", "2001:db8::/32", "ffff::/16"}; !slices.Equal(networks, want) {
			t.Errorf("networks %v, want %v", networks, want)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

// Values have the types that GeoIP2 clients expect.
func TestTypes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.mmdb")
	long := strings.Repeat("x", 300)
	write(t, path, Options{}, []network{{netip.MustParsePrefix("1.0.0.0/8"),
		`{"city":{"confidence":11,"geoname_id":5746545,"names":{"de":"K\u00f6ln","en":"Cologne \"on\" Rhine"}},` +
			`"location":{"accuracy_radius":1000,"latitude":50,"longitude":-6.9578,"metro_code":1},"flag":true,"no":false,` +
			`"big":18446744073709551615,"less":-5,"list":[1,"a",{"b":[]}],"long":"` + long + `","small":1e-9,"longer":"` + long + long + `"}`}})
	var got map[string]any
	if err := open(t, path).Lookup(netip.MustParseAddr("1.2.3.4")).Decode(&got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"city": map[string]any{
			"confidence": uint64(11),
			"geoname_id": uint64(5746545),
			"names":      map[string]any{"de": "Köln", "en": `Cologne "on" Rhine`},
		},
		"location": map[string]any{"accuracy_radius": uint64(1000), "latitude": 50.0, "longitude": -6.9578, "metro_code": uint64(1)},
		"flag":     true, "no": false, "big": uint64(1<<64 - 1), "less": -5,
		"list": []any{uint64(1), "a", map[string]any{"b": []any{}}}, "long": long, "small": 1e-9, "longer": long + long,
	}
	normal := func(v any) any { // Go's types of the same numbers differ by the reader's version
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if normal(got) != normal(want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	if v, ok := got["location"].(map[string]any)["latitude"].(float64); !ok || v != 50 {
		t.Errorf("latitude is %T", got["location"].(map[string]any)["latitude"])
	}
}

func TestRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.mmdb")
	if _, err := Create(path, Options{RecordSize: 20}); err == nil || !strings.Contains(err.Error(), "24, 28 or 32") {
		t.Errorf("record size 20: %v", err)
	}
	w, err := Create(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for record, field := range map[string]string{
		`{"a":{"b":-99999999999}}`:                           "a.b",
		`{"a":null}`:                                         "a",
		`{"a":[1,{"c":1e999}]}`:                              "a.c",
		`{"a":"` + strings.Repeat("x", maxSize+1) + `"}`:     "a",
		`{"a":{"b":1},"n":{"x":"y"},"l":-123456789012345.0}`: "",
	} {
		_, err := w.Put([]byte(record))
		if typed := (*TypeError)(nil); field != "" && (!errors.As(err, &typed) || typed.Field != field || len(err.Error()) > 400) {
			t.Errorf("%.40s: %v, want a TypeError of %s", record, err, field)
		} else if field == "" && err != nil {
			t.Errorf("%s: %v", record, err)
		}
	}
	for _, record := range []string{``, `[]`, `{`, `{"a"}`, `{"a":}`, `{"a":1`, `{"a":1}x`, `{"a":tru}`, `{"a":"x}`, `{"a":1"b":2}`} {
		if _, err := w.Put([]byte(record)); err == nil {
			t.Errorf("%q is no record", record)
		}
	}
	d, err := w.Put([]byte(`{"a":1}`))
	if err != nil {
		t.Fatal(err)
	}
	add := func(p string) error { return w.Add(netip.MustParsePrefix(p), d) }
	for _, c := range []struct {
		prefix string
		ok     bool
	}{
		{"2.0.0.0/8", true}, {"2.0.0.0/8", false}, {"2.1.0.0/16", false}, {"1.0.0.0/8", false}, {"0.0.0.0/0", false},
		{"::5/128", false}, {"::9.9.9.9/128", false}, {"a::/16", true}, {"3.0.0.0/8", false}, {"a:1::/32", false}, {"2002:1::/32",
			false}, {"f::/16", false},
	} {
		if err := add(c.prefix); err == nil != c.ok {
			t.Errorf("%s: %v", c.prefix, err)
		}
	}
	if err := w.Add(netip.Prefix{}, d); err == nil {
		t.Error("the zero Prefix is taken")
	}
	if err := errors.Join(w.Abort(), w.Abort()); err != nil {
		t.Error(err)
	}
	if w, err = Create(path, Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Finish(Info{}); !errors.Is(err, ErrEmpty) {
		t.Errorf("an empty database: %v", err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 0 {
		t.Errorf("left behind: %v", files)
	}
}

// TestWhole writes a database in which one record covers all IPv4 addresses.
func TestWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.mmdb")
	write(t, path, Options{}, []network{{netip.MustParsePrefix("0.0.0.0/0"), `{"a":1}`}})
	db := open(t, path)
	if got := lookup(t, db, netip.MustParseAddr("9.9.9.9")); got != `{"a":1}` {
		t.Errorf("9.9.9.9 is %s", got)
	}
	if got := lookup(t, db, netip.MustParseAddr("9::")); got != "" {
		t.Errorf("9:: is %s", got)
	}
}

// For any networks and any size of the memory, the file reads back as it was written.
func TestProperty(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.mmdb")
	rapid.Check(t, func(rt *rapid.T) {
		v4 := drawNetworks(rt, netip.MustParsePrefix("0.0.0.0/0"), "v4")
		v6 := drawNetworks(rt, netip.MustParsePrefix("2400::/6"), "v6")
		list := append(v4, v6...)
		if len(list) == 0 {
			return
		}
		size := rapid.SampledFrom([]int{0, 24, 28, 32}).Draw(rt, "record size")
		write(t, path, Options{RecordSize: size, Memory: rapid.Int64Range(1, 1<<16).Draw(rt, "memory") << 14}, list)
		db := open(t, path)
		defer db.Close()
		want := func(a netip.Addr) string {
			for _, n := range list {
				if n.prefix.Contains(a) {
					return n.record
				}
			}
			return ""
		}
		for _, n := range list {
			first, last := n.prefix.Addr(), lastOf(n.prefix)
			for _, a := range []netip.Addr{first, last, first.Prev(), last.Next()} {
				if !a.IsValid() {
					continue
				}
				if got := lookup(t, db, a); got != want(a) {
					rt.Fatalf("%s is %s, want %s", a, got, want(a))
				}
				if a.Is4() {
					if got := lookup(t, db, netip.AddrFrom16(a.As16())); got != want(a) {
						rt.Fatalf("::ffff:%s is %s, want %s", a, got, want(a))
					}
				}
			}
		}
	})
}

func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < 8*len(b); i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

// drawNetworks splits a network at random.
func drawNetworks(t *rapid.T, all netip.Prefix, name string) (list []network) {
	var split func(p netip.Prefix, depth int)
	split = func(p netip.Prefix, depth int) {
		choice := rapid.IntRange(0, 9).Draw(t, fmt.Sprint(name, depth))
		switch {
		case choice < 3 || p.IsSingleIP():
			list = append(list, network{p, fmt.Sprintf(`{"city":{"names":{"en":"City of %d"}},"id":%d}`, choice, choice)})
		case choice < 4 || depth > 24:
		default:
			low, _ := p.Addr().Prefix(p.Bits() + 1)
			b := p.Addr().AsSlice()
			b[p.Bits()/8] |= 0x80 >> (p.Bits() % 8)
			a, _ := netip.AddrFromSlice(b)
			if choice > 5 { // far down on one side
				bits := min(p.Bits()+rapid.IntRange(1, 40).Draw(t, "down"), p.Addr().BitLen())
				low = netip.PrefixFrom(p.Addr(), bits)
			}
			split(low, depth+1)
			split(netip.PrefixFrom(a, p.Bits()+1), depth+1)
		}
	}
	split(all, 0)
	return list
}

// TestControl tests pointers of all lengths, and sizes of all lengths.
func TestControl(t *testing.T) {
	for _, size := range []int{0, 28, 29, 284, 285, 65820, 65821, maxSize} {
		for _, typ := range []byte{typeString, typeArray} {
			b := appendControl(nil, typ, size)
			gotType, gotSize, head := control(b)
			if gotType != typ || gotSize != size || head != len(b) {
				t.Errorf("type %d of size %d is read as %d of %d", typ, size, gotType, gotSize)
			}
		}
	}
	for at, want := range map[uint32][]byte{
		0: {0x20, 0}, 2047: {0x27, 0xff}, 2048: {0x28, 0, 0}, 526335: {0x2f, 0xff, 0xff},
		526336: {0x30, 0, 0, 0}, 134744063: {0x37, 0xff, 0xff, 0xff}, 134744064: {0x38, 0x08, 0x08, 0x08, 0x00},
	} {
		if got := appendPointer(nil, at); !reflect.DeepEqual(got, want) {
			t.Errorf("pointer to %d is %x, want %x", at, got, want)
		}
	}
}

// Any record reads back as it was written.
func TestRecordProperty(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.mmdb")
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		return rapid.Custom(func(t *rapid.T) any {
			kinds := 5
			if depth > 0 {
				kinds = 7
			}
			switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
			case 0:
				return rapid.String().Draw(t, "text")
			case 1:
				// JSON writes whole floats from MinInt64 to below MinInt32 like integers, and no
				// type of MMDB holds such an integer.
				return rapid.Float64().Filter(func(v float64) bool {
					return v >= math.MinInt32 || v < math.MinInt64 ||
						v != math.Trunc(v)
				}).Draw(t, "number")
			case 2:
				return rapid.Uint64().Draw(t, "uint")
			case 3:
				return rapid.Int32().Draw(t, "int")
			case 4:
				return rapid.Bool().Draw(t, "flag")
			case 5:
				return rapid.SliceOfN(value(depth-1), 0, 40).Draw(t, "list")
			}
			return rapid.MapOfN(rapid.String(), value(depth-1), 0, 40).Draw(t, "map")
		})
	}
	rapid.Check(t, func(rt *rapid.T) {
		records := rapid.SliceOfN(rapid.MapOfN(rapid.SampledFrom([]string{"a", "names", "latitude", "confidence", "metro_code",
			"ü"}), value(2), 0, 6), 1, 8).Draw(rt, "records")
		var list []network
		for i, r := range records {
			b, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, network{netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(i + 1)}), 8), string(b)})
		}
		write(t, path, Options{}, list)
		db := open(t, path)
		defer db.Close()
		for _, n := range list {
			var got, want any
			if err := json.Unmarshal([]byte(lookup(t, db, n.prefix.Addr())), &got); err != nil {
				rt.Fatal(err)
			}
			if err := json.Unmarshal([]byte(n.record), &want); err != nil {
				rt.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				rt.Fatalf("%s reads back as %v", n.record, got)
			}
		}
	})
}

// For any text, the encoder either succeeds or returns an error.
func FuzzEncode(f *testing.F) {
	for _, s := range []string{`{"a":[1,-2,3.5e9,true,null,"\u00fc"]}`, `{"names":{"en":"x"}}`, `{`, `"`, `-`, `[1,]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b, err := encode(nil, []byte(text), map[string]bool{})
		if err == nil && length(b) != len(b) {
			t.Errorf("%q: %d bytes, %d by its head", text, len(b), length(b))
		}
	})
}
