package ipcsv

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"quadrille/cmd/ingest/internal/source"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// lines reads everything, writing good records as "line first-last country"
// and bad ones as "line! reason".
func lines(t testing.TB, text string) []string {
	t.Helper()
	var out []string
	for r, err := range Read(strings.NewReader(text), "x.csv") {
		var bad *source.BadRecord
		switch {
		case errors.As(err, &bad):
			if bad.Source != "x.csv" {
				t.Errorf("bad record of %q", bad.Source)
			}
			out = append(out, fmt.Sprintf("%d! %s", bad.Line, bad.Reason))
		case err != nil:
			t.Fatal(err)
		default:
			out = append(out, fmt.Sprintf("%d %s-%s %s", r.Line, r.First, r.Last, r.Country))
		}
	}
	return out
}

func TestRead(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"empty", "", nil},
		{"dotted", "1.0.0.0,1.0.0.255,AU\n", []string{"1 1.0.0.0-1.0.0.255 AU"}},
		{"no last newline", "1.0.0.0,1.0.0.255,AU", []string{"1 1.0.0.0-1.0.0.255 AU"}},
		{"CRLF", "1.0.0.0,1.0.0.255,AU\r\n1.0.1.0,1.0.1.255,CN\r\n", []string{"1 1.0.0.0-1.0.0.255 AU", "2 1.0.1.0-1.0.1.255 CN"}},
		{"BOM", "\ufeff1.0.0.0,1.0.0.255,AU\n", []string{"1 1.0.0.0-1.0.0.255 AU"}},
		{"BOM and header", "\ufeffstart,end,country\n1.0.0.0,1.0.0.255,AU\n", []string{"2 1.0.0.0-1.0.0.255 AU"}},
		{"comments and blanks", "# a\n\n  # b\n \t\n1.0.0.0,1.0.0.255,AU\n#c\n", []string{"5 1.0.0.0-1.0.0.255 AU"}},
		{"header after comment", "# a\nfoo,bar,baz\n1.0.0.0,1.0.0.255,AU\n", []string{"3 1.0.0.0-1.0.0.255 AU"}},
		{"header once", "start,end,country\nstart,end,country\n", []string{"2! not an IP address"}},
		{"quoted", `"1.0.0.0","1.0.0.255","AU","A ""b"", c"` + "\n", []string{"1 1.0.0.0-1.0.0.255 AU"}},
		{"blanks", " 1.0.0.0 ,\t1.0.0.255 , \" AU \" ,\n", []string{"1 1.0.0.0-1.0.0.255 AU"}},
		{"more columns", "1.0.0.0,1.0.0.255,AU,Queensland,,South Brisbane\n", []string{"1 1.0.0.0-1.0.0.255 AU"}},
		{"named columns", "Country_Name,Country_Code,IP_From,IP_To\nAustralia,AU,16777216,16777471\n", []string{"2 1.0.0.0-1.0.0.255 AU"}},
		{"empty country", "1.0.0.0,1.0.0.255,\n", []string{"1 1.0.0.0-1.0.0.255 "}},
		{"two columns", "1.0.0.0,1.0.0.255\n", []string{"1! too few columns"}},
		{"one column", "1.0.0.0\n", []string{"1! too few columns"}},
		{"network", "1.0.0.0/24,AU\n1.2.3.4/8,US\n2001:200::/32,JP\n::/0,ZZ\n0.0.0.0/0,ZZ\n", []string{
			"1 1.0.0.0-1.0.0.255 AU", "2 1.0.0.0-1.255.255.255 US",
			"3 2001:200::-2001:200:ffff:ffff:ffff:ffff:ffff:ffff JP",
			"4 ::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ZZ", "5 0.0.0.0-255.255.255.255 ZZ"}},
		{"network named", "network,geoname_id,country_iso_code\n1.0.0.0/24,2077456,AU\n1.0.1.0,x,AU\n", []string{"2 1.0.0.0-1.0.0.255 AU", "3! too few columns"}},
		{"bad network", "1.0.0.0/33,AU\n1.0.0.0/,AU\n/,AU\n", []string{"1! not an IP address", "2! not an IP address", "3! not an IP address"}},
		{"network alone", "1.0.0.0/24\n", []string{"1! too few columns"}},
		{"IPv6 in full", "2001:0200:0000:0000:0000:0000:0000:0000,2001:0200:ffff:ffff:ffff:ffff:ffff:ffff,JP\n",
			[]string{"1 2001:200::-2001:200:ffff:ffff:ffff:ffff:ffff:ffff JP"}},
		{"decimal 128", "42540528726795050063891204319802818560,42540528806023212578155541913346768895,JP\n",
			[]string{"1 2001:200::-2001:200:ffff:ffff:ffff:ffff:ffff:ffff JP"}},
		{"decimal ends", "0,4294967295,AA\n0,4294967296,BB\n0,340282366920938463463374607431768211455,CC\n", []string{
			"1 0.0.0.0-255.255.255.255 AA", "2 ::-::1:0:0 BB",
			"3 ::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff CC"}},
		{"decimal over", "0,340282366920938463463374607431768211456,CC\n0,3402823669209384634633746074317682114550,CC\n0," + strings.Repeat("9", 500) + ",CC\n",
			[]string{"1! not an IP address", "2! not an IP address", "3! not an IP address"}},
		{"decimal reversed keeps one version", "4294967296,1,AA\n", []string{"1 ::1:0:0-::1 AA"}},
		{"mixed notation", "16777216,1.0.0.255,AU\n", []string{"1 1.0.0.0-1.0.0.255 AU"}},
		{"mixed versions are the caller's", "1.0.0.0,::1,AU\n", []string{"1 1.0.0.0-::1 AU"}},
		{"reversed is the caller's", "1.0.0.9,1.0.0.1,AU\n", []string{"1 1.0.0.9-1.0.0.1 AU"}},
		{"bad addresses", "1.0.0.256,1.0.0.1,AU\n1.0.0.1,1.0.0,AU\n01.0.0.1,1.0.0.1,AU\n-1,5,AU\n+1,5,AU\n1e3,1e4,AU\n,,AU\nfe80::1%eth0,fe80::2%eth0,AU\n", []string{
			"1! not an IP address", "2! not an IP address", "3! not an IP address", "4! not an IP address",
			"5! not an IP address", "6! not an IP address", "7! not an IP address", "8! not an IP address"}},
		{"bad quotes", "\"1.0.0.0,1.0.0.255,AU\n1.0.0.0,\"1.0.0.255\"x,AU\n1.0.0.0,1.0.0.255,AU\n", []string{
			"1! quotes are not closed or not alone in their field", "2! quotes are not closed or not alone in their field", "3 1.0.0.0-1.0.0.255 AU"}},
		{"long line", "# x\n" + strings.Repeat("x", 3*MaxLine) + "\n1.0.0.0,1.0.0.255,AU\n" + strings.Repeat("y", MaxLine), []string{
			"2! line is too long", "3 1.0.0.0-1.0.0.255 AU", "4! line is too long"}},
		{"control bytes", "1.0.0.0,1.0.0.\x00,AU\n\xff,\xfe,\xfd\n", []string{"1! not an IP address", "2! not an IP address"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, lines(t, tc.text)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestReadStopsAtReadError(t *testing.T) {
	broken := errors.New("disk on fire")
	r := io.MultiReader(strings.NewReader("1.0.0.0,1.0.0.255,AU\n1.0.1.0,1.0"), iotest.ErrReader(broken))
	var got []error
	for _, err := range Read(r, "x.csv") {
		got = append(got, err)
	}
	if len(got) != 2 || got[0] != nil || !errors.Is(got[1], broken) {
		t.Errorf("got %v", got)
	}
}

func TestReadStopsWhenAsked(t *testing.T) {
	n := 0
	for range Read(strings.NewReader(strings.Repeat("1.0.0.0,1.0.0.255,AU\n", 5)), "x.csv") {
		if n++; n == 2 {
			break
		}
	}
	if n != 2 {
		t.Errorf("%d records after the break", n)
	}
}

// A decimal number is the address math/big says.
func TestParseNumberAgainstBig(t *testing.T) {
	limit := new(big.Int).Lsh(big.NewInt(1), 128)
	rapid.Check(t, func(t *rapid.T) {
		n := new(big.Int).SetBytes(rapid.SliceOfN(rapid.Byte(), 0, 18).Draw(t, "bytes"))
		text := strings.Repeat("0", rapid.IntRange(0, 3).Draw(t, "zeros")) + n.String()
		a, ok := parseNumber([]byte(text))
		if ok != (n.Cmp(limit) < 0) {
			t.Fatalf("%s: ok is %v", text, ok)
		}
		if ok && (new(big.Int).SetBytes(a.AsSlice()).Cmp(n) != 0 || a.Is4() != (n.BitLen() <= 32)) {
			t.Fatalf("%s: %v", text, a)
		}
	})
}

// The dotted and the decimal edition of one list are the same list.
func TestRealFilesAgree(t *testing.T) {
	const dir = "../../../../../../shared/data/ip/"
	for _, version := range []string{"ipv4", "ipv6"} {
		t.Run(version, func(t *testing.T) {
			dotted := readFile(t, dir+"geo-asn-country-"+version+"-20201219.csv.gz")
			decimal := readFile(t, dir+"geo-asn-country-"+version+"-num-20201219.csv.gz")
			if len(dotted) < 49000 || len(dotted) != len(decimal) {
				t.Fatalf("%d and %d records", len(dotted), len(decimal))
			}
			for i := range dotted {
				if dotted[i] != decimal[i] {
					t.Fatalf("%+v and %+v", dotted[i], decimal[i])
				}
			}
		})
	}
}

func readFile(t *testing.T, path string) []Record {
	t.Helper()
	f, err := source.Open(filepath.FromSlash(path))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("no real data: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []Record
	for r, err := range Read(f, path) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("\ufeffstart,end,country\r\n1.0.0.0,1.0.0.255,AU\r\n"))
	f.Add([]byte("# c\n\"16777216\",\"16777471\",\"A\"\"U\"\n"))
	f.Add([]byte("2001:200::/32,JP\n42540528726795050063891204319802818560,42540528806023212578155541913346768895,JP"))
	f.Add([]byte("\"1.0.0.0,\n::ffff:1.2.3.4,1.2.3.4,\n340282366920938463463374607431768211456,0,x"))
	f.Fuzz(func(t *testing.T, text []byte) {
		last, most := 0, bytes.Count(text, []byte{'\n'})+1
		for r, err := range Read(bytes.NewReader(text), "x") {
			line := r.Line
			var bad *source.BadRecord
			if errors.As(err, &bad) {
				line = bad.Line
				if r != (Record{}) || bad.Reason == "" {
					t.Fatalf("%+v with %v", r, err)
				}
			} else if err != nil {
				t.Fatal(err)
			} else if !r.First.IsValid() || !r.Last.IsValid() || r.First.Zone() != "" || r.Last.Zone() != "" {
				t.Fatalf("%+v", r)
			}
			if line <= last || line > most {
				t.Fatalf("line %d after %d of %d", line, last, most)
			}
			last = line
		}
	})
}

func FuzzParseAddr(f *testing.F) {
	for _, s := range []string{"1.2.3.4", "::1", "4294967296", "::ffff:1.2.3.4", "fe80::1%x", "340282366920938463463374607431768211455"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, s []byte) {
		a, number, ok := parseAddr(s)
		if !ok {
			return
		}
		if !a.IsValid() || a.Zone() != "" {
			t.Fatalf("%q: %v", s, a)
		}
		if !number {
			if b, err := netip.ParseAddr(string(s)); err != nil || a != b {
				t.Fatalf("%q: %v, %v", s, a, b)
			}
		}
	})
}
