package ipcsv

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"quadrille/cmd/ingest/internal/source"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// lines reads the whole list. It returns good records as "line first-last values" and bad ones as
// "line! reason".
func lines(t testing.TB, text string, columns ...Column) []string {
	t.Helper()
	table, err := Open(strings.NewReader(text), "x.csv", columns)
	if err != nil {
		return []string{strings.TrimPrefix(err.Error(), "x.csv: ")}
	}
	var out []string
	for r, err := range table.Records() {
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
			out = append(out, fmt.Sprintf("%d %s-%s %s", r.Line, r.First, r.Last, bytes.Join(r.Fields, []byte{'|'})))
		}
	}
	return out
}

const notKnown = "its columns are not known; name them in a first line or by --columns, such as --columns " +
	"first,last,country,-,city, or --columns network,prefix_length,asn, or --columns network,country=DE for networks alone"

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
		{"BOM and header", "\ufeffstart,end,country\n1.0.0.0,1.0.0.255,AU\n", []string{"2 1.0.0.0-1.0.0.255 ||AU"}},
		{"comments and blanks", "# a\n\n  # b\n \t\n1.0.0.0,1.0.0.255,AU\n#c\n", []string{"5 1.0.0.0-1.0.0.255 AU"}},
		{"header after comment", "# a\nfoo,bar,baz\n1.0.0.0,1.0.0.255,AU\n", []string{"3 1.0.0.0-1.0.0.255 ||AU"}},
		{"header once", "start,end,country\nstart,end,country\n", []string{"2! not an IP address"}},
		{"quoted", `"1.0.0.0","1.0.0.255","AU","Australia ""b"", c"` + "\n", []string{`1 1.0.0.0-1.0.0.255 AU|Australia "b", c`}},
		{"blanks", " 1.0.0.0 ,\t1.0.0.255 , \" AU \" ,\n", []string{"1 1.0.0.0-1.0.0.255 AU"}},
		{"more columns", "1.0.0.0,1.0.0.255,AU,Queensland,,South Brisbane\n", []string{notKnown}},
		{
			"named columns",
			"Country_Name,Country_Code,IP_From,IP_To\nAustralia,AU,16777216,16777471\n",
			[]string{"2 1.0.0.0-1.0.0.255 Australia|AU||"},
		},
		{"empty country", "1.0.0.0,1.0.0.255,\n", []string{"1 1.0.0.0-1.0.0.255 "}},
		{"two columns", "1.0.0.0,1.0.0.255\n", []string{notKnown}},
		{"one column", "1.0.0.0\n", []string{notKnown}},
		{"no country", "1.0.0.0,1.0.0.255,Germany\n", []string{notKnown}},
		{
			"too few columns",
			"1.0.0.0,1.0.0.255,AU\n1.0.1.0,1.0.1.255\n1.0.2.0\n",
			[]string{"1 1.0.0.0-1.0.0.255 AU", "2! too few columns", "3! too few columns"},
		},
		{"network", "1.0.0.0/24,AU\n1.2.3.4/8,US\n2001:200::/32,JP\n::/0,ZZ\n0.0.0.0/0,ZZ\n", []string{
			"1 1.0.0.0-1.0.0.255 AU", "2 1.0.0.0-1.255.255.255 US",
			"3 2001:200::-2001:200:ffff:ffff:ffff:ffff:ffff:ffff JP",
			"4 ::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ZZ", "5 0.0.0.0-255.255.255.255 ZZ"}},
		{
			"network named",
			"network,geoname_id,country_iso_code\n1.0.0.0/24,2077456,AU\n1.0.1.0,x,AU\n",
			[]string{"2 1.0.0.0-1.0.0.255 |2077456|AU", "3 1.0.1.0-1.0.1.0 |x|AU"},
		},
		{"a range in one column", "1.0.0.0-1.0.0.255,AU\n1.0.1.0 - 1.0.1.3,CN\n2001:200::-2001:200::1,JP\n", []string{
			"1 1.0.0.0-1.0.0.255 AU", "2 1.0.1.0-1.0.1.3 CN", "3 2001:200::-2001:200::1 JP"}},
		{
			"a range in a named column",
			"range,network,country\nx,4294967296-4294967297,AU\nx,1.0.0.0-,AU\n",
			[]string{"2 ::1:0:0-::1:0:1 x||AU", "3! not an IP address"},
		},
		{"bad network", "1.0.0.0/33,AU\n1.0.0.0/,AU\n/,AU\n", []string{"1! not an IP address", "2! not an IP address", "3! not an IP address"}},
		{"network alone", "1.0.0.0/24\n", []string{notKnown}},
		{"IPv6 in full", "2001:0200:0000:0000:0000:0000:0000:0000,2001:0200:ffff:ffff:ffff:ffff:ffff:ffff,JP\n",
			[]string{"1 2001:200::-2001:200:ffff:ffff:ffff:ffff:ffff:ffff JP"}},
		{"decimal 128", "42540528726795050063891204319802818560,42540528806023212578155541913346768895,JP\n",
			[]string{"1 2001:200::-2001:200:ffff:ffff:ffff:ffff:ffff:ffff JP"}},
		{"decimal ends", "0,4294967295,AA\n0,4294967296,BB\n0,340282366920938463463374607431768211455,CC\n", []string{
			"1 0.0.0.0-255.255.255.255 AA", "2 ::-::1:0:0 BB",
			"3 ::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff CC"}},
		{"decimal over", "0,340282366920938463463374607431768211456,CC\n0,3402823669209384634633746074317682114550,CC\n0," +
			strings.Repeat("9", 500) + ",CC\n",
			[]string{"1! not an IP address", "2! not an IP address", "3! not an IP address"}},
		{"decimal reversed keeps one version", "4294967296,1,AT\n", []string{"1 ::1:0:0-::1 AT"}},
		{"mixed notation", "16777216,1.0.0.255,AU\n", []string{"1 1.0.0.0-1.0.0.255 AU"}},
		{"mixed versions are the caller's", "1.0.0.0,::1,AU\n", []string{"1 1.0.0.0-::1 AU"}},
		{"reversed is the caller's", "1.0.0.9,1.0.0.1,AU\n", []string{"1 1.0.0.9-1.0.0.1 AU"}},
		{"bad addresses", "1.0.0.256,1.0.0.1,AU\n1.0.0.1,1.0.0,AU\n01.0.0.1,1.0.0.1,AU\n-1,5,AU\n+1,5,AU\n1e3,1e4,AU\n,,AU\nfe80::1%eth0,fe80::2%eth0,AU\n", []string{
			"1! not an IP address", "2! not an IP address", "3! not an IP address", "4! not an IP address",
			"5! not an IP address", "6! not an IP address", "7! not an IP address", "8! address with a zone"}},
		{"more bad addresses", "[2001:db8::1],[2001:db8::2],AU\n[2001:db8::1]:80,::2,AU\n1.2.3.4:80,1.2.3.5,AU\n1.2.3.4 " +
			",1.2.3. 5,AU\nfe80::%a/64,AU\n1.2.3.04,1.2.3.5,AU\n1.2.3.4.5,1.2.3.5,AU\n1..3.4,1.2.3.5,AU\n.1.2.3,1.2.3.5,AU\n", []string{
			"1! address in brackets or with a port", "2! address in brackets or with a port", "3! address in brackets or with a port",
			"4! not an IP address",
			"5! address with a zone", "6! not an IP address", "7! not an IP address", "8! not an IP address", "9! not an IP address"}},
		{"bad quotes", "\"1.0.0.0,1.0.0.255,AU\n1.0.0.0,\"1.0.0.255\"x,AU\n1.0.0.0,1.0.0.255,AU\n", []string{
			"1! quotes are not closed or not alone in their field", "2! quotes are not closed or not alone in their field",
			"3 1.0.0.0-1.0.0.255 AU"}},
		{"long line", "# x\n" + strings.Repeat("x", 3*MaxLineBytes) + "\n1.0.0.0,1.0.0.255,AU\n" +
			strings.Repeat("y", MaxLineBytes), []string{
			"2! line is too long", "3 1.0.0.0-1.0.0.255 AU", "4! line is too long"}},
		{
			"a line like a delegation",
			"1.0.0.0|1.0.0.255|DE\n1.0.1.0|1.0.1.255|DE\nown|DE|ipv4|50.0.0.0|256|2020|assigned\n",
			[]string{"1 1.0.0.0-1.0.0.255 DE", "2 1.0.1.0-1.0.1.255 DE", "3! not an IP address"},
		},
		{
			"a header with asn",
			"network,country,asn,as_name,city,latitude,longitude\n1.0.0.0/24,DE,1,A,B,2,3\n",
			[]string{"2 1.0.0.0-1.0.0.255 |DE|1|A|B|2|3"},
		},
		{
			"a row like a delegation",
			"network,country,asn,extra.a,extra.b,extra.c,extra.d\n1.0.0.0/24,DE,1,A,B,2,3\nown,DE,ipv4,50.0.0.0,256,2020,assigned\n",
			[]string{"2 1.0.0.0-1.0.0.255 |DE|1|A|B|2|3", "3! not an IP address"},
		},
		{"separator in quotes", "\"network\",\"a; b\",country\n1.0.0.0/24,\"x;y\",DE\n", []string{"2 1.0.0.0-1.0.0.255 |x;y|DE"}},
		{"first separator in quotes", "\"Smith; Jones\",ip,country\n\"a|b\",1.0.0.0/24,DE\n", []string{"2 1.0.0.0-1.0.0.255 a|b||DE"}},
		{"bar before a comma", "Name (a|b),network,country\nx,1.0.0.0/24,DE\n", []string{"2 1.0.0.0-1.0.0.255 x||DE"}},
		{"semicolon before a comma", "ip;alt,network,country\nx,1.0.0.0/24,DE\n", []string{"2 1.0.0.0-1.0.0.255 x||DE"}},
		{"semicolon before a tab", "A;B Ltd\tnetwork\tcountry\nx\t1.0.0.0/24\tDE\n", []string{"2 1.0.0.0-1.0.0.255 x||DE"}},
		{"control bytes", "1.0.0.0,1.0.0.\x00,AU\n\xff,\xfe,\xfd\n", []string{"1! not an IP address", "2! not UTF-8"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, lines(t, tc.text)); d != "" {
				t.Error(d)
			}
		})
	}
}

// A mask, a prefix length or a wildcard mask in a column of its own is part of the network.
// Python's ipaddress.ip_network reads and refuses the same networks.
func TestMasks(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"netmasks", "subnet,netmask,country\n10.240.0.0,255.240.0.0,DE\n10.248.3.0,255.255.255.0,AT\n10.0.0.1,255.255.255.255,CH\n0.0.0.0,0.0.0.0,FR\n", []string{
			"2 10.240.0.0-10.255.255.255 ||DE", "3 10.248.3.0-10.248.3.255 ||AT", "4 10.0.0.1-10.0.0.1 ||CH", "5 0.0.0.0-255.255.255.255 ||FR"}},
		{"lengths", "prefix\tlength\tasn\n5.1.0.0\t24\t64500\n5.1.4.0\t/22\t64501\n2001:db8::\t32\t64502\n", []string{
			"2 5.1.0.0-5.1.0.255 ||64500", "3 5.1.4.0-5.1.7.255 ||64501", "4 2001:db8::-2001:db8:ffff:ffff:ffff:ffff:ffff:ffff ||64502"}},
		{"wildcard masks", "network,wildcard,country\n10.240.0.0,0.15.255.255,DE\n10.0.0.1,0.0.0.0,AT\n0.0.0.0,255.255.255.255,CH\n", []string{
			"2 10.240.0.0-10.255.255.255 ||DE", "3 10.0.0.1-10.0.0.1 ||AT", "4 0.0.0.0-255.255.255.255 ||CH"}},
		{
			"wildcard masks called masks",
			"ip,mask,country\n10.240.0.0,0.15.255.255,DE\n10.0.0.1,0.0.0.0,AT\n",
			[]string{"2 10.240.0.0-10.255.255.255 ||DE", "3 10.0.0.1-10.0.0.1 ||AT"},
		},
		{"a wildcard mask alone", "ip,wildcard,country\n10.0.0.1,0.0.0.0,AT\n", []string{"2 10.0.0.1-10.0.0.1 ||AT"}},
		{
			"of both kinds",
			"ip,mask,country\n10.240.0.0,255.240.0.0,DE\n10.0.0.0,0.255.255.255,AT\n",
			[]string{"2 10.240.0.0-10.255.255.255 ||DE", "3! " + ReasonMask},
		},
		{"contradicted", "ip,mask,country\n10.240.0.1,255.240.0.0,DE\n10.0.0.0/8,16,AT\n10.0.0.0/8,8,AT\n10.0.0.0 - " +
			"10.0.0.255,24,AT\n10.0.0.0 - 10.0.1.0,24,AT\n", []string{
			"2! " + ReasonHost, "3! " + ReasonOther, "4 10.0.0.0-10.255.255.255 ||AT", "5 10.0.0.0-10.0.0.255 ||AT", "6! " + ReasonOther}},
		{"no masks", "ip,mask,country\n10.0.0.0,255.0.255.0,DE\n10.0.0.0,0.255.0.255,DE\n10.0.0.0,33,DE\n2001:db8::,129,DE\n2001:db8::,255.0.0.0,DE\n10.0.0.0,,DE\n10.0.0.0,-8,DE\n10.0.0.0,8,DE\n10.0.0.0,9,DE\n10.0.0.0,10,DE\n", []string{
			"2! " + ReasonMask, "3! " + ReasonMask, "4! " + ReasonMask, "5! " + ReasonMask, "6! " + ReasonMask, "7! " + ReasonMask,
			"8! " + ReasonMask,
			"9 10.0.0.0-10.255.255.255 ||DE", "10 10.0.0.0-10.127.255.255 ||DE", "11 10.0.0.0-10.63.255.255 ||DE"}},
		{
			"beside both ends",
			"first,last,netmask,country\n10.0.0.0,10.0.0.255,255.255.255.0,DE\n10.0.0.1,10.0.0.254,255.255.255.0,DE\n",
			[]string{"2 10.0.0.0-10.0.0.255 |||DE", "3! " + ReasonOther},
		},
		{
			"without names",
			"10.240.0.0,255.240.0.0,DE\n10.248.3.0,255.255.255.0,AT\n",
			[]string{"1 10.240.0.0-10.255.255.255 DE", "2 10.248.3.0-10.248.3.255 AT"},
		},
		{"with unknown names", "Netz,Maske,country\n10.240.0.0,255.240.0.0,DE\n", []string{"2 10.240.0.0-10.255.255.255 ||DE"}},
		{"with one known name", "ip,Maske,country\n10.240.0.0,255.240.0.0,DE\n", []string{"2 10.240.0.0-10.255.255.255 ||DE"}},
		{"two names for networks", "prefix,ip,country\n24,10.0.0.0,DE\n", []string{"2 10.0.0.0-10.0.0.255 ||DE"}},
		{"a mask of another kind", "network,mask,country\n10.0.0.0/24,FFP2,DE\n", []string{"2 10.0.0.0-10.0.0.255 |FFP2|DE"}},
		{"a length of something else", "network,length,country\n10.0.0.0/24,7,DE\n", []string{"2 10.0.0.0-10.0.0.255 |7|DE"}},
		{
			"the last range of all",
			"0.0.0.0,9.255.255.255,ZZ\n224.0.0.0,255.255.255.255,ZZ\n",
			[]string{"1 0.0.0.0-9.255.255.255 ZZ", "2 224.0.0.0-255.255.255.255 ZZ"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, lines(t, tc.text)); d != "" {
				t.Error(d)
			}
		})
	}
}

// Unrecognised lists are refused, and the message names the likely meaning.
func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"ip,country\n10.240.0.0,DE\n10.248.3.0,DE\n":        "--columns=address,country",
		"ip,country\n2001:db8::,DE\n2001:db8:1::,DE\n":      "prefix length",
		"9.0.0.0,US,US-CA,Reno,\n":                          "--columns=address,country,region,city.names.en,postal.code",
		"first,last,country\n10.0.0.0,255.0.0.0,DE\n":       "masks and no last addresses; call it netmask",
		"start_ip,country\n9.0.0.1,DE\n":                    "no last ones",
		"network,country,country\n9.0.0.0/8,DE,FR\n":        `two columns called "country"`,
		"network,network,country\n9.0.0.0/8,8.0.0.0/8,FR\n": `two columns called "network"`,
		"von,bis,country\n9.0.0.5,9.0.0.1,DE\n":             `"von", "bis", "country", of which several hold addresses`,
		"host,gateway,vlan\n9.0.0.5,9.0.0.254,7\n":          "several hold addresses",
		"site,country\nBerlin,DE\nVienna,AT\n":              `"site", "country", and none of these holds addresses`,
		"network\n9.0.0.0/8\n":                              "no column says anything",
		"A|B|5.1.0.0/24|x\nA|B|5.2.0.0/24|y\n":              "networks are in column 3: --columns=-,-,network,country=DE",
		"5.1.0.0,24,64500\n5.1.4.0,22,64501\n":              "network,prefix_length,asn",
		"5.1.0.0/24,64500\n":                                notKnown,
		"Account disabled\n":                                `no row has an address, such as the one that begins with "Account disabled"`,
	} {
		if got := lines(t, text); len(got) != 1 || !strings.HasPrefix(got[0], ErrColumns.Error()) || !strings.Contains(got[0], want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestNamesCount reads lists that need --columns, and lists whose columns have unknown names.
func TestNamesCount(t *testing.T) {
	for _, tc := range []struct{ name, columns, text, guess, want string }{
		{
			"a name for addresses that is not known",
			"",
			"Adresse,vlan,description\n9.0.0.0/24,104,Office\n",
			`networks from "Adresse", by what it holds; kept as extra: "vlan", "description"`,
			"2 9.0.0.0-9.0.0.255 |104|Office",
		},
		{
			"two of them",
			"",
			"von,bis,lang\n9.0.0.0,9.0.0.255,de\n9.0.1.0,9.0.1.255,no\n",
			`ranges from "von" and "bis", by what it holds; kept as extra: "lang"`,
			"2 9.0.0.0-9.0.0.255 ||de, 3 9.0.1.0-9.0.1.255 ||no",
		},
		{
			"one of them",
			"",
			"first,bis,lang\n9.0.0.5,9.0.0.255,de\n",
			`last addresses from "bis", by what it holds; kept as extra: "lang"`,
			"2 9.0.0.5-9.0.0.255 ||de",
		},
		{"words together", "", "ipAddress,countryCode,abuseScore\n9.0.0.5,DE,100\n", `kept as extra: "abuseScore"`, "2 9.0.0.5-9.0.0.5 |DE|100"},
		{"a number of rows", "", ";network;country\n0;9.0.0.0/24;DE\n", `not read: ""`, "2 9.0.0.0-9.0.0.255 ||DE"},
		{"the same twice", "", "network,country,country\n9.0.0.0/24,DE,DE\n", `kept as extra: "country"`, "2 9.0.0.0-9.0.0.255 |DE|DE"},
		{
			"lengths that are called a network",
			"",
			"start_ip,prefix,country\n10.0.0.0,24,DE\n10.0.2.0,23,AT\n",
			"",
			"2 10.0.0.0-10.0.0.255 ||DE, 3 10.0.2.0-10.0.3.255 ||AT",
		},
		{"masks that are called one", "", "start_ip,subnet,country\n10.0.0.0,255.255.255.0,DE\n", "", "2 10.0.0.0-10.0.0.255 ||DE"},
		{"beside both ends", "", "prefix,first,last,country\n24,10.0.0.0,10.0.0.255,DE\n", "", "2 10.0.0.0-10.0.0.255 |||DE"},
		{
			"names that are called one",
			"",
			"network,first,last,country\nOffice,10.0.0.0,10.0.0.9,DE\n",
			`kept as extra: "network"`,
			"2 10.0.0.0-10.0.0.9 Office|||DE",
		},
		{
			"a network beside both ends",
			"",
			"first,last,network,country\n10.0.0.0,10.0.0.255,10.0.0.0/24,DE\n",
			`not read: "first", "last"`,
			"2 10.0.0.0-10.0.0.255 |||DE",
		},
		{
			"a damaged row first",
			"",
			"localhost,DE\n9.0.0.0/24,DE\n9.0.1.0/24,AT\n",
			`by its content; after the addresses it has country "DE"`,
			"1! not an IP address, 2 9.0.0.0-9.0.0.255 DE, 3 9.0.1.0-9.0.1.255 AT",
		},
		{
			"a title first",
			"",
			"Networks of today\n9.0.0.0/24,DE\n",
			`by its content; after the addresses it has country "DE"`,
			"1! too few columns, 2 9.0.0.0-9.0.0.255 DE",
		},
		{
			"comments",
			"network,extra.id",
			"; a list, of networks\n// and\tmore\n# of them\n;\n9.0.0.0/24 ; L1\n; the end\n",
			"",
			"5 9.0.0.0-9.0.0.255 |L1",
		},
		{"comments before tabs", "network,asn", ";IP-ASN32-DAT file\n; \n9.0.0.0/24\t64500\n", "", "3 9.0.0.0-9.0.0.255 |64500"},
		{
			"blanks",
			"network,asn",
			"9.0.0.0/24 64500\n2a00:200::/32   64502\n",
			"",
			"1 9.0.0.0-9.0.0.255 |64500, 2 2a00:200::-2a00:200:ffff:ffff:ffff:ffff:ffff:ffff |64502",
		},
		{"blanks in the last column", "network,asn,as_name", "9.0.0.0/24 64500 Any Net\n", "", "1 9.0.0.0-9.0.0.255 |64500|Any Net"},
		{"blanks in a range", "network,country=DE", "9.0.0.0 - 9.0.0.9\n", "", "1 9.0.0.0-9.0.0.9 |DE"},
		{"names between blanks", "", "prefix asn\n9.0.0.0/24 64500\n", "", "2 9.0.0.0-9.0.0.255 |64500"},
		{"lengths without names", "network,prefix_length,asn", "9.0.0.0\t24\t64500\n", "", "1 9.0.0.0-9.0.0.255 ||64500"},
		{"addresses alone", "address,country", "9.0.0.0,DE\n9.1.0.0,AT\n", "", "1 9.0.0.0-9.0.0.0 |DE, 2 9.1.0.0-9.1.0.0 |AT"},
		{
			"comments behind rows of a geofeed",
			"",
			"9.0.0.0/24,DE,DE-BE,Berlin # office, of all\n9.0.1.0/24,DE,DE-HH,Hamburg,# \"harbour\n9.0.2.0/24,DE,DE-HH,\"#1\",\n",
			`by its content; after the addresses it has country "DE", region "DE-BE", city.names.en "Berlin"`,
			"1 9.0.0.0-9.0.0.255 DE|DE-BE|Berlin|, 2 9.0.1.0-9.0.1.255 DE|DE-HH|Hamburg|, 3 9.0.2.0-9.0.2.255 DE|DE-HH|#1|",
		},
		{
			"and of one with names",
			"",
			"prefix,alpha2code,region,city,postal_code\n9.0.0.0/24,DE,DE-BE,Berlin # office\n",
			"",
			"2 9.0.0.0-9.0.0.255 |DE|DE-BE|Berlin|",
		},
		{"no comment in a name", "", "network,asn,as_name\n9.0.0.0/24,64500,Company #1\n", "", "2 9.0.0.0-9.0.0.255 |64500|Company #1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var columns []Column
			if tc.columns != "" {
				var err error
				if columns, err = ParseColumns(tc.columns); err != nil {
					t.Fatal(err)
				}
			}
			if got := strings.Join(lines(t, tc.text, columns...), ", "); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
			if tc.columns != "" {
				return
			}
			if got := open(t, strings.NewReader(tc.text)).Guess(); got != tc.guess {
				t.Errorf("guess %s", got)
			}
		})
	}
	for _, list := range []string{"prefix_length,country", "address,prefix_length,country", "address,network,country"} {
		if _, err := ParseColumns(list); err == nil {
			t.Error(list)
		}
	}
}

// A mask gives netip's range of the prefix, in every form.
func TestMaskAgainstPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length := rapid.IntRange(1, 31).Draw(t, "length")
		p := netip.PrefixFrom(netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "address"))), length).Masked()
		mask := ^uint32(0) << (32 - length)
		dotted := func(n uint32) string {
			return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}).String()
		}
		for name, text := range map[string]string{"netmask": dotted(mask), "wildcard": dotted(^mask), "prefix_length": fmt.Sprint(length)} {
			table, err := Open(strings.NewReader(fmt.Sprintf("ip,%s,country\n%s,%s,DE\n", name, p.Addr(), text)), "x", nil)
			if err != nil {
				t.Fatal(err)
			}
			for r, err := range table.Records() {
				if err != nil || r.First != p.Addr() || r.Last != source.LastAddr(p) {
					t.Fatalf("%s with %s: %v to %v, %v", p, text, r.First, r.Last, err)
				}
			}
		}
	})
}

func open(t testing.TB, r io.Reader) *Table {
	t.Helper()
	table, err := Open(r, "x.csv", nil)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestReadStopsAtReadError(t *testing.T) {
	broken := errors.New("disk on fire")
	r := io.MultiReader(strings.NewReader("1.0.0.0,1.0.0.255,AU\n1.0.1.0,1.0"), iotest.ErrReader(broken))
	var got []error
	for _, err := range open(t, r).Records() {
		got = append(got, err)
	}
	if len(got) != 2 || got[0] != nil || !errors.Is(got[1], broken) {
		t.Errorf("got %v", got)
	}
}

func TestReadStopsWhenAsked(t *testing.T) {
	n := 0
	for range open(t, strings.NewReader(strings.Repeat("1.0.0.0,1.0.0.255,AU\n", 5))).Records() {
		if n++; n == 2 {
			break
		}
	}
	if n != 2 {
		t.Errorf("%d records after the break", n)
	}
}

// A decimal number gives the same address as a computation with math/big.
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

func TestLayouts(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []string
		columns    string
	}{
		{"city list of ip-location-db",
			"1.178.1.0,1.178.1.255,US,Oregon,,Boardman,,45.83986,-119.70058,America/Los_Angeles\n1.178.4.0,1.178.6.255,US,,,,,,,\n",
			[]string{"1 1.178.1.0-1.178.1.255 US|Oregon||Boardman||45.83986|-119.70058|America/Los_Angeles", "2 1.178.4.0-1.178.6.255 US|||||||"},
			"country subdivisions.0.names.en subdivisions.1.names.en city.names.en postal.code location.latitude " +
				"location.longitude location.time_zone"},
		{"city list of DB-IP", "1.0.0.0,1.0.0.255,OC,AU,Queensland,\"South Brisbane, " +
			"West\",-27.4767,153.017\n::,1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff,ZZ,ZZ,,,0,0\n",
			[]string{"1 1.0.0.0-1.0.0.255 OC|AU|Queensland|South Brisbane, West|-27.4767|153.017",
				"2 ::-1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ZZ|ZZ|||0|0"},
			"continent country subdivisions.0.names.en city.names.en location.latitude location.longitude"},
		{"city list of IP2Location",
			"\"16777216\",\"16777471\",\"AU\",\"Australia\",\"Queensland\",\"Brisbane\",\"-27.467940\",\"153.028090\",\"4000\",\"+10:00\"\n",
			[]string{"1 1.0.0.0-1.0.0.255 AU|Australia|Queensland|Brisbane|-27.467940|153.028090|4000|+10:00"},
			"country country.names.en subdivisions.0.names.en city.names.en location.latitude location.longitude postal.code extra.utc_offset"},
		{"list of iptoasn.com", "1.0.0.0\t1.0.0.255\t13335\tUS\tCLOUDFLARENET \"a, b\n1.0.1.0\t1.0.3.255\t0\tNone\tNot routed\n",
			[]string{"1 1.0.0.0-1.0.0.255 13335|US|CLOUDFLARENET \"a, b", "2 1.0.1.0-1.0.3.255 0|None|Not routed"},
			"traits.autonomous_system_number country traits.autonomous_system_organization"},
		{"list of iptoasn.com", strings.Repeat("x", MaxLineBytes+1) + "\n1.0.0.0\t1.0.0.255\t13335\tUS\tX\n",
			[]string{"1! line is too long", "2 1.0.0.0-1.0.0.255 13335|US|X"},
			"traits.autonomous_system_number country traits.autonomous_system_organization"},
		{"list of autonomous systems", "1.0.0.0/24,13335,\"Cloudflare, Inc.\"\n",
			[]string{"1 1.0.0.0-1.0.0.255 13335|Cloudflare, Inc."}, "traits.autonomous_system_number traits.autonomous_system_organization"},
		{"table of routes", "5.1.0.0\t24\t64500\n5.27.1.0\t24\t64503_64504\n5.74.203.0\t24\t64505,64506\n2001:db8::\t32\t{64507}\n",
			[]string{"1 5.1.0.0-5.1.0.255 ||64500", "2 5.27.1.0-5.27.1.255 ||64503", "3 5.74.203.0-5.74.203.255 ||64505",
				"4 2001:db8::-2001:db8:ffff:ffff:ffff:ffff:ffff:ffff ||64507"}, "network prefix_length traits.autonomous_system_number"},
		{"table of routes", "; IP-ASN32-DAT file\n; \n5.1.0.0/24\t64500\n", []string{"3 5.1.0.0-5.1.0.255 |64500"}, "network traits.autonomous_system_number"},
		{"table of routes", "5.1.0.0/24 64500\n2a00:200::/32 64502\n",
			[]string{"1 5.1.0.0-5.1.0.255 |64500", "2 2a00:200::-2a00:200:ffff:ffff:ffff:ffff:ffff:ffff |64502"}, "network traits.autonomous_system_number"},
		{"list of IP2Proxy", "\"83951616\",\"83951871\",\"PUB\",\"AU\",\"Somewhere\",\"-\",\"Perth\"\n",
			[]string{"1 5.1.0.0-5.1.0.255 PUB|AU|Somewhere|-|Perth|||||||||"}, "proxy_type country country.names.en subdivisions.0.names.en city.names.en " +
				"traits.isp traits.domain extra.usage_type traits.autonomous_system_number traits.autonomous_system_organization extra.last_seen " +
				"extra.threat extra.provider extra.fraud_score"},
		{"geofeed (RFC 8805)", "# c\n192.0.2.0/24,US,US-MA,Tewksbury, \n192.0.2.5,US,US-AL,Mobile,\n2001:db8::/32,PL,,,\n203.0.113.0/24,AT\n",
			[]string{"2 192.0.2.0-192.0.2.255 US|US-MA|Tewksbury|", "3 192.0.2.5-192.0.2.5 US|US-AL|Mobile|",
				"4 2001:db8::-2001:db8:ffff:ffff:ffff:ffff:ffff:ffff PL|||", "5 203.0.113.0-203.0.113.255 AT|||"},
			"country region city.names.en postal.code"},
		{
			"country list of DB-IP",
			"1.0.0.0,1.0.0.255,OC,AU\n::,::ffff,NA,NA\n",
			[]string{"1 1.0.0.0-1.0.0.255 OC|AU", "2 ::-::ffff NA|NA"},
			"continent country",
		},
		{
			"list of continents",
			"1.0.0.0,1.0.0.255,OC\n1.0.1.0,1.0.1.255,NA\n",
			[]string{"1 1.0.0.0-1.0.0.255 OC", "2 1.0.1.0-1.0.1.255 NA"},
			"continent",
		},
		{
			"list of continents",
			"9.0.0.0/8,NA\n11.0.0.0/8,eu\n12.0.0.0/8,SA\n",
			[]string{"1 9.0.0.0-9.255.255.255 NA", "2 11.0.0.0-11.255.255.255 eu", "3 12.0.0.0-12.255.255.255 SA"},
			"continent",
		},
		{
			"country list",
			"9.0.0.0/8,NA\n11.0.0.0/8,EU\n12.0.0.0/8,DE\n",
			[]string{"1 9.0.0.0-9.255.255.255 NA", "2 11.0.0.0-11.255.255.255 EU", "3 12.0.0.0-12.255.255.255 DE"},
			"country",
		},
		{
			"country list",
			"9.0.0.0/8,EU\n11.0.0.0/8,EU\n12.0.0.0/8,ZZ\n",
			[]string{"1 9.0.0.0-9.255.255.255 EU", "2 11.0.0.0-11.255.255.255 EU", "3 12.0.0.0-12.255.255.255 ZZ"},
			"country",
		},
		{"country list", "1.0.0.0,1.0.0.255,NA\n1.0.1.0,1.0.1.255,AF\n", []string{"1 1.0.0.0-1.0.0.255 NA", "2 1.0.1.0-1.0.1.255 AF"}, "country"},
		{"location list of DB-IP",
			"1.0.0.0,1.0.0.255,OC,AU,AU-QLD,Queensland,,\"Brisbane, South\",4101,-27.48,153.02,2207259,10,Australia/Brisbane,ASXX0016\n",
			[]string{"1 1.0.0.0-1.0.0.255 OC|AU|AU-QLD|Queensland||Brisbane, South|4101|-27.48|153.02|2207259|10|Australia/Brisbane|ASXX0016"},
			"continent country region subdivisions.0.names.en subdivisions.1.names.en city.names.en postal.code " +
				"location.latitude location.longitude geoname_id extra.utc_offset location.time_zone extra.weather_code"},
		{
			"list of IP2Location with operators",
			"0,9,KR,Korea (Republic of),Any Net\n10,11,-,-,-\n",
			[]string{"1 0.0.0.0-0.0.0.9 KR|Korea (Republic of)|Any Net", "2 0.0.0.10-0.0.0.11 -|-|-"},
			"country country.names.en traits.isp",
		},
		{"list of IP2Location with regions and cities", "0,9,VN,Viet Nam,Ha Noi,Hanoi\n10,11,-,-,-,-\n",
			[]string{"1 0.0.0.0-0.0.0.9 VN|Viet Nam|Ha Noi|Hanoi|", "2 0.0.0.10-0.0.0.11 -|-|-|-|"},
			"country country.names.en subdivisions.0.names.en city.names.en traits.isp"},
		{"AS list of IP2Location", "16777216,16777471,1.0.0.0/24,13335,Any Net\n16777472,16778239,1.0.1.0/24,-,-\n",
			[]string{"1 1.0.0.0-1.0.0.255 |13335|Any Net", "2 1.0.1.0-1.0.3.255 |-|-"},
			"- traits.autonomous_system_number traits.autonomous_system_organization"},
		{"geofeed (RFC 8805)", "9.0.0.0/24,AT,AT-9,Vienna,1060,/24\n9.0.1.0/24,at,9,Vienna,,\n",
			[]string{"1 9.0.0.0-9.0.0.255 AT|AT-9|Vienna|1060", "2 9.0.1.0-9.0.1.255 at|9|Vienna|"},
			"country region city.names.en postal.code"},
		{
			"geofeed (RFC 8805) with names of regions",
			"9.0.0.0/24,EC,Azuay,Cuenca,010101\n",
			[]string{"1 9.0.0.0-9.0.0.255 EC|Azuay|Cuenca|010101"},
			"country region city.names.en postal.code",
		},
		{"list with column names", "network,asn,domain,name,type\n9.0.0.0/24,AS64500,e.net,Any Net,isp\n",
			[]string{"2 9.0.0.0-9.0.0.255 |AS64500|e.net|Any Net|isp"},
			"network traits.autonomous_system_number extra.domain traits.autonomous_system_organization extra.type"},
		{"list with column names", "ip,extra.domain\n9.0.0.1,Any\n", []string{"2 9.0.0.1-9.0.0.1 |Any"}, "network extra.domain"},
		{"list with column names", "network,-,country,-\n9.0.0.0/24,a,NL,b\n", []string{"2 9.0.0.0-9.0.0.255 ||NL|"}, "network - country -"},
		{"list with column names", "ip,service\n9.0.0.1,Any\n", []string{"2 9.0.0.1-9.0.0.1 |Any"}, "network extra.service"},
		{"list with column names", "IP Prefix,alpha2code,VPN,is-hosting\n9.0.0.0/24,NL,true,no\n", []string{"2 9.0.0.0-9.0.0.255 |NL|true|no"},
			"network country.iso_code traits.is_anonymous_vpn traits.is_hosting_provider"},
		{"list with column names",
			"network,geoname_id,registered_country_geoname_id,represented_country_geoname_id,is_anonymous_proxy,is_satellite_provider,postal_code,latitude,longitude,accuracy_radius,is_anycast\n1.0.0.0/24,2077456,2077456,,0,0,,-33.4940,143.2104,1000,\n",
			[]string{"2 1.0.0.0-1.0.0.255 |2077456|2077456||0|0||-33.4940|143.2104|1000|"},
			"network geoname_id registered_country.geoname_id represented_country.geoname_id extra.is_anonymous_proxy " +
				"traits.is_satellite_provider postal.code location.latitude location.longitude location.accuracy_radius traits.is_anycast"},
		{"list with column names",
			"start_ip,end_ip,join_key,country,country_code,continent,as_domain,foo,foo\n1.0.0.0,1.0.0.255,1.0.0.0,Australia,AU,Oceania,x.com,1,2,3\n1.0.1.0,1.0.1.255,,,CN,,,,\n",
			[]string{"2! too many columns", "3 1.0.1.0-1.0.1.255 ||||CN||||"},
			"first last extra.join_key country country.iso_code continent extra.as_domain extra.foo -"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			table := open(t, strings.NewReader(tc.text))
			var columns []string
			for _, c := range table.Columns() {
				columns = append(columns, string(c))
			}
			if table.Layout() != tc.name || strings.Join(columns, " ") != tc.columns {
				t.Errorf("%s with %s", table.Layout(), columns)
			}
			if d := cmp.Diff(tc.want, lines(t, tc.text)); d != "" {
				t.Error(d)
			}
		})
	}
}

// Guesses are reported with an example, and so are ignored columns.
func TestGuess(t *testing.T) {
	for text, want := range map[string]string{
		"1.0.0.0,1.0.0.255,\n1.0.1.0,1.0.1.255,AU\n": `by its content; after the addresses it has country "AU"`,
		"9.0.0.0/24,AT,AT-9,Vienna,1060,/24\n":       `by its content; after the addresses it has country "AT", region "AT-9", city.names.en "Vienna", postal.code "1060", unread "/24"`,
		"network,country,Shop,shop\n":                `kept as extra: "Shop"; not read: "shop"`,
		"network,country\n":                          "",
		"network,-,country, - \n":                    "",
	} {
		if got := open(t, strings.NewReader(text)).Guess(); got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
	// These have a column beyond every layout, a name that is not the country's, an unassigned
	// code, or coordinates after a geofeed.
	for _, text := range []string{"1.0.0.0,1.0.0.255,AU,AU,x\n", "1.0.0.0,1.0.0.255,AU,Queensland,Brisbane\n", "1.0.0.0,1.0.0.255,QQ\n",
		"9.0.0.0/24,US,US-CA,Los Angeles,90001,34.05,-118.24\n"} {
		if got := lines(t, text); !slices.Equal(got, []string{notKnown}) {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestColumnsGiven(t *testing.T) {
	columns, err := ParseColumns(" City, -,first ,End-IP,extra.carrier,Country code")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"1 1.0.0.0-1.0.0.255 Perth||||x|AU", "2 1.0.1.0-1.0.1.255 ||||y|"}
	if d := cmp.Diff(want, lines(t, "Perth,zz,1.0.0.0,1.0.0.255,x,AU,more\n,,1.0.1.0/24,,y\n", columns...)); d != "" {
		t.Error(d)
	}
	if columns, err = ParseColumns("country=DE,network,is_tor=1,extra.of=A=b "); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"1 1.0.0.1-1.0.0.1 |DE|1|A=b ", "2 1.0.0.0-1.0.0.9 |DE|1|A=b "},
		lines(t, "1.0.0.1\n1.0.0.0 - 1.0.0.9\n", columns...)); d != "" {
		t.Error(d)
	}
	// This is the argument of --columns country=DE,network.
	if _, err = ParseColumns("DE,network"); err == nil || !strings.Contains(err.Error(), "network,country=DE)") {
		t.Error(err)
	}
	for _, list := range []string{"network=1.0.0.0,country", "network,country=", "network,-=x", "network,country=D\nE",
		"network,country=DE,country", "", "first", "first,last", "network", "country", "first,country", "first,last,network,country",
		"first,last,countr", "first,last,country,country", "network,extra.",
		"network,country" + strings.Repeat(",-", maxColumns)} {
		if c, err := ParseColumns(list); err == nil {
			t.Errorf("%q: %q", list, c)
		}
	}
}

// A registry's lines give ranges by the first address and a count.
func TestDelegations(t *testing.T) {
	const begin = "2.3|arin|1|2|3|4|5\n"
	for line, want := range map[string][]string{
		"arin|US|ipv4|1.0.1.0|768||assigned":       {"2 1.0.1.0-1.0.3.255 ||US"},
		"arin|US|ipv4|255.0.0.0|16777216||x":       {"2 255.0.0.0-255.255.255.255 ||"},
		"arin|US|ipv6|2001:400::|32||allocated|x":  {"2 2001:400::-2001:400:ffff:ffff:ffff:ffff:ffff:ffff ||US"},
		"arin|US|ipv4|255.0.0.0|16777217||x":       {"2 255.0.0.0-::1:0:0 ||"}, // whose ends are of two versions, which is refused later
		"arin|US|ipv4|1.0.0.0|-1||assigned":        {"2! no delegation of a registry"},
		"1.0.0.0|1.0.0.255|DE":                     {"2! no delegation of a registry"},
		"2.3|arin|1|2|3|4|5":                       {"2! no delegation of a registry"},
		"arin|USA|ipv4|1.0.0.0|256||assigned":      {"2! no delegation of a registry"},
		"arin|US|ipv4|1.0.0.0|99999999999||x":      {"2! not an IP address"},
		"arin|US|ipv4|2001:400::|256||assigned":    {"2! not an IP address"},
		"arin|US|ipv6|2001:400::|129||assigned":    {"2! not an IP address"},
		"arin|US|ipv4|1.0.0.0|256":                 {"2! no delegation of a registry"},
		"arin|US|asn|3|1|20010920|assigned|abc":    nil,
		"arin|*|ipv4|*|7|summary\n#\n|||||||||":    {"4! no delegation of a registry"},
		"iana|ZZ|ipv4|0.0.0.0|0|19810901|reserved": {"2 0.0.0.0-::ffff:ffff:ffff:ffff ||"},
	} {
		if len(want) == 1 && strings.HasPrefix(want[0], "2 ") { // the first line may be missing
			if d := cmp.Diff([]string{"1" + want[0][1:]}, lines(t, line)); d != "" {
				t.Errorf("%s: %s", line, d)
			}
		}
		if d := cmp.Diff(want, lines(t, begin+line+strings.Repeat("\narin|US|asn|3|1||assigned", 3))); d != "" {
			t.Errorf("%s: %s", line, d)
		}
	}
}

// The error about a bad entry of a provider's list quotes its address.
func TestBadEntry(t *testing.T) {
	table, err := OpenJSON(bufio.NewReader(strings.NewReader(`{"syncToken":"1","prefixes":[{"ip_prefix":"9.0.0.0/24"},{}]}`)), "x")
	if err != nil {
		t.Fatal(err)
	}
	reason := ""
	for _, err := range table.Records() {
		if bad := (*source.BadRecord)(nil); errors.As(err, &bad) {
			reason += bad.Reason
		}
	}
	if reason != ReasonAddress {
		t.Errorf("%q", reason)
	}
}

func FuzzOpenJSON(f *testing.F) {
	f.Add([]byte(`{"syncToken":"1","prefixes":[{"ipv4Prefix":"9.0.0.0/24"},{"ip_prefix":"1.0.0.0/8","region":"a\nb"},3]}`))
	f.Add([]byte(`{"values":[{"properties":{"addressPrefixes":["9.0.0.0/24","x"],"region":"é"}}],"a":{}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		table, err := OpenJSON(bufio.NewReader(bytes.NewReader(text)), "x")
		if err != nil {
			return
		}
		for r, err := range table.Records() {
			if bad := (*source.BadRecord)(nil); errors.As(err, &bad) {
				continue
			}
			if err != nil || !r.First.IsValid() || len(r.Fields) != len(table.Columns()) || bytes.IndexByte(bytes.Join(r.Fields, nil), '\n') >= 0 {
				t.Fatalf("%+v, %v", r, err)
			}
		}
	})
}

// A list longer than the sample is recognised by its complete lines, with any kind of line ends.
func TestLong(t *testing.T) {
	for _, end := range []string{"\n", "\r", "\r\n"} {
		row := "1.0.0.0,1.0.0.255,AU" + end
		if got := open(t, strings.NewReader(strings.Repeat(row, sampleBytes/len(row)+1))).Layout(); got != "country list" {
			t.Errorf("%q: %s", end, got)
		}
	}
}

// The dotted and the decimal edition of one list are the same list.
func TestRealFilesAgree(t *testing.T) {
	for _, version := range []string{"ipv4", "ipv6"} {
		t.Run(version, func(t *testing.T) {
			dotted := readFile(t, "geo-asn-country-"+version+"-20201219.csv.gz")
			decimal := readFile(t, "geo-asn-country-"+version+"-num-20201219.csv.gz")
			if len(dotted) < 49000 || !slices.Equal(dotted, decimal) {
				t.Fatalf("%d and %d records, or others", len(dotted), len(decimal))
			}
		})
	}
}

// Every real list is recognised, and all its rows are read.
func TestRealFiles(t *testing.T) {
	for name, want := range map[string]struct {
		layout string
		rows   int
	}{
		"asn-country-ipv4-20231223.csv.gz":           {"country list", 130163},
		"geo-whois-asn-country-ipv6-20201220.csv.gz": {"country list", 71383},
		"ip2asn-v6-20231208.tsv.gz":                  {"list of iptoasn.com", 152385},
		"geofeed-verizon-20260423.csv.gz":            {"geofeed (RFC 8805)", 52169},
		"geofeed-aws-20260822.csv.gz":                {"geofeed (RFC 8805)", 10661},
		"city-geofeed-ipv4.csv.gz":                   {"city list of ip-location-db", 32086},
		"city-geofeed-ipv6.csv.gz":                   {"city list of ip-location-db", 3594},
	} {
		t.Run(name, func(t *testing.T) {
			table := openFile(t, name)
			rows := 0
			for _, err := range table.Records() {
				if err != nil {
					t.Fatal(err)
				}
				rows++
			}
			if rows != want.rows || table.Layout() != want.layout {
				t.Errorf("%d rows, %s", rows, table.Layout())
			}
		})
	}
}

func openFile(t *testing.T, name string) *Table {
	t.Helper()
	f, err := source.Open(filepath.FromSlash("../../../../../../shared/data/ip/" + name))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("no real data: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return open(t, f)
}

func readFile(t *testing.T, name string) (out []string) {
	t.Helper()
	for r, err := range openFile(t, name).Records() {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%d %s-%s %s", r.Line, r.First, r.Last, r.Fields[0]))
	}
	return out
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("\ufeffstart,end,country\r\n1.0.0.0,1.0.0.255,AU\r\n"))
	f.Add([]byte("# c\n\"16777216\",\"16777471\",\"A\"\"U\"\n"))
	f.Add([]byte("2001:200::/32,JP\n42540528726795050063891204319802818560,42540528806023212578155541913346768895,JP"))
	f.Add([]byte("\"1.0.0.0,\n::ffff:1.2.3.4,1.2.3.4,\n340282366920938463463374607431768211456,0,x"))
	f.Add([]byte("1.0.0.0\t1.0.0.255\t13335\tUS\tCLOUDFLARENET\n"))
	f.Add([]byte("\r0"))
	f.Add([]byte("2|arin|1|1|1|1|1\narin|US|ipv4|1.0.0.0|256||assigned\narin|US|ipv6|2001::|32||assigned"))
	f.Add([]byte("192.0.2.5,US,US-AL,Mobile,\n"))
	f.Add([]byte("network,latitude,foo\n1.0.0.0/8,91,x\n"))
	f.Add([]byte("1.0.0.0,1.0.0.255,OC,AU,Queensland,South,-27.4767,153.017\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, columns := range [][]Column{nil, {Country, First, Last, Skip, City}, {Network, Latitude}} {
			fuzzTable(t, text, columns)
		}
	})
}

func fuzzTable(t *testing.T, text []byte, columns []Column) {
	table, err := Open(bytes.NewReader(text), "x", columns)
	if err != nil {
		if !errors.Is(err, ErrColumns) {
			t.Fatal(err)
		}
		return
	}
	last, most := 0, bytes.Count(text, []byte{'\n'})+bytes.Count(text, []byte{'\r'})+1
	for r, err := range table.Records() {
		line := r.Line
		var bad *source.BadRecord
		if errors.As(err, &bad) {
			line = bad.Line
			if r.Fields != nil || bad.Reason == "" {
				t.Fatalf("%+v with %v", r, err)
			}
		} else if err != nil {
			t.Fatal(err)
		} else if !r.First.IsValid() || !r.Last.IsValid() || r.First.Zone() != "" || r.Last.Zone() != "" ||
			len(r.Fields) != len(table.Columns()) {
			t.Fatalf("%+v", r)
		}
		if line <= last || line > most {
			t.Fatalf("line %d after %d of %d", line, last, most)
		}
		last = line
	}
}

func FuzzParseAddr(f *testing.F) {
	for _, s := range []string{"1.2.3.4", "::1", "4294967296", "::ffff:1.2.3.4", "fe80::1%x",
		"340282366920938463463374607431768211455", "01.2.3.4", "1.2.3.4:5"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, s []byte) {
		a, number, reason := parseAddr(s)
		b, err := netip.ParseAddr(string(s))
		if !number && (reason == "") != (err == nil && b.Zone() == "") {
			t.Fatalf("%q: %v %q, %v %v", s, a, reason, b, err)
		}
		if reason == "" && (!a.IsValid() || a.Zone() != "" || !number && a != b) {
			t.Fatalf("%q: %v, %v", s, a, b)
		}
	})
}
