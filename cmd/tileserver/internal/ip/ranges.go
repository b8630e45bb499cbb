package ip

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/internal/iso3166"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/ipdatabase"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/ipgeo"
)

// rangesQuery selects networks and the format of their list.
type rangesQuery struct {
	countries  []string // none for any
	loose      []string // those of them that are of no country, so that only some sources have them
	continents []string // none for any
	asns       []uint32 // none for any
	version    int64    // of IP; 0 for both
	format     string
	accept     bool   // the Accept header chose the format
	name       string // of the sets in lists for firewalls
}

// maxSystems bounds the number of autonomous systems of a request.
const maxSystems = 250

// readASNs reads the numbers of autonomous systems.
func readASNs(p *endpoint.Params, name string) (numbers []uint32) {
	for _, text := range p.List(name, maxSystems) {
		if len(text) > 2 && strings.EqualFold(text[:2], "AS") {
			text = text[2:]
		}
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil || n == 0 {
			p.Refuse(name, "Set asn to the number of an autonomous system, from 1 to 4294967295, such as 3320, or several joined by commas.")
		}
		numbers = append(numbers, uint32(n))
	}
	return numbers
}

// maxDenied bounds the number of refused countries; 250 countries exist.
const maxDenied = 250

// readCountries reads codes of countries, or codes that sources of addresses use like those, such as
// EU.
func readCountries(p *endpoint.Params, name string) []string {
	codes := p.List(name, maxDenied)
	for i := range codes {
		codes[i] = knownCode(p, name, codes[i])
	}
	return codes
}

func knownCode(p *endpoint.Params, name, text string) string {
	c, ok := iso3166.Lookup(text)
	if !ok || c.Name == "" {
		p.Refuse(name, "Set "+name+" to the two letters of a country code in use, such as FR (ISO 3166-1).")
	}
	return c.Code
}

// noCountry returns the error for a code that belongs to no country and is not in the sources.
func noCountry(code string) error {
	return endpoint.Refuse(endpoint.ErrParameter, "country",
		"Set country to the two letters of a country code in use, such as FR (ISO 3166-1); "+code+
			" is not the code of a country, and no source has it.")
}

// readRanges reads the parameters of /ip/ranges.
func readRanges(r *http.Request, p *endpoint.Params) (q rangesQuery, err error) {
	q.countries, q.continents, q.asns = rangesCountryParam.Of(p), rangesContinentParam.Of(p), rangesASNParam.Of(p)
	if len(q.countries)+len(q.continents)+len(q.asns) == 0 {
		p.Refuse("country", "Add country, a code such as DE, continent, such as EU, or asn, the number of an autonomous system.")
	}
	q.version, _ = strconv.ParseInt(ipVersionParam.Of(p), 10, 64) // 0 when it is absent
	q.format = rangesFormatParam.Of(p)
	if q.accept = !rangesFormatParam.Given(p); q.accept {
		q.format = formats[web.PreferredType(r, "text/plain", "application/json", "application/x-ndjson", "text/csv")]
	}
	for _, code := range q.countries {
		if c, ok := iso3166.Lookup(code); ok && !c.Assigned() {
			q.loose = append(q.loose, code)
		}
	}
	for _, code := range q.continents {
		if iso3166.ContinentName(code) == "" {
			p.Refuse(rangesContinentParam.Name, "Set continent to some of AF, AN, AS, EU, NA, OC and SA, joined by commas.")
		}
	}
	for _, codes := range []*[]string{&q.countries, &q.continents} {
		slices.Sort(*codes)
		*codes = slices.Compact(*codes)
	}
	slices.Sort(q.asns)
	q.asns = slices.Compact(q.asns)
	q.name = q.setName()
	return q, p.Err
}

// formats maps the media types that the Accept header may select to their formats.
var formats = map[string]string{"text/plain": "text", "application/json": "json", "application/x-ndjson": "ndjson", "text/csv": "csv"}

// setName returns the name of the sets for what a query selects. The kernel allows 31 bytes, with the
// version of IP, so a long list is named by its numbers.
func (q *rangesQuery) setName() string {
	const most = 28
	var systems []string
	for _, n := range q.asns {
		systems = append(systems, strconv.FormatUint(uint64(n), 10))
	}
	var all, numbers []string
	sum := web.HashStart
	for _, chosen := range []struct {
		kind, prefix, separator string
		codes                   []string
	}{
		{"country", "country_", "_", q.countries},
		{"continent", "continent_", "_", q.continents},
		{"as", "as", "_as", systems},
	} {
		if len(chosen.codes) == 0 {
			continue
		}
		all = append(all, chosen.prefix+strings.ToLower(strings.Join(chosen.codes, chosen.separator)))
		numbers = append(numbers, chosen.kind+"_x"+strconv.Itoa(len(chosen.codes)))
		for _, code := range chosen.codes {
			sum = sum.Bytes(chosen.kind).Bytes(code)
		}
	}
	if name := strings.Join(all, "_"); len(name) <= most {
		return name
	}
	mark := fmt.Sprintf("_%06x", uint64(sum)>>40) // other lists have another name
	name := strings.Join(numbers, "_")
	return name[:min(len(name), most-len(mark))] + mark
}

func (q *rangesQuery) form() web.Format {
	switch q.format {
	case "json":
		return web.FormatJSON
	case "ndjson":
		return web.FormatNDJSON
	case "csv":
		return web.FormatCSV
	}
	return web.FormatText
}

func (q *rangesQuery) wants(res *ipgeo.Result) bool {
	return (len(q.countries) == 0 || slices.Contains(q.countries, res.Country)) &&
		(len(q.continents) == 0 || q.inContinent(res.Country)) &&
		(len(q.asns) == 0 || slices.Contains(q.asns, res.ASN())) &&
		(q.version == 0 || res.Addr.Is4() == (q.version == 4))
}

func (q *rangesQuery) inContinent(country string) bool {
	c, ok := iso3166.Lookup(country)
	return ok && slices.Contains(q.continents, c.Continent)
}

// getRanges answers GET /ip/ranges: the networks of countries or autonomous systems, sorted by
// address, with adjacent networks joined. It reads the whole table while it writes the answer, and
// buffers nothing.
func (s *Handlers) getRanges(c echo.Context, p *endpoint.Params) error {
	r := c.Request()
	q, err := readRanges(r, p)
	if err != nil {
		return err
	}
	pin := &p.View().Addresses
	reader, err := pin.Get()
	if err != nil {
		return err
	}
	c.Response().Header()[ipdatabase.Header] = s.databases.Of(pin).Header
	answer := web.Answer{Format: q.form(), ByAccept: q.accept}
	return s.Stream(c, answer, []uint64{pin.ID}, s.StreamTimeout, func(ctx context.Context, out *web.Stream) error {
		w := newRangesWriter(out, &q)
		missing := slices.Clone(q.loose)
		for res, err := range reader.All(ctx) {
			if err == nil {
				err = web.Step(ctx)
			}
			if err != nil {
				return err
			}
			if len(missing) > 0 {
				missing = slices.DeleteFunc(missing, func(code string) bool { return code == res.Country })
			}
			if q.version == 4 && res.Addr.Is6() && len(missing) == 0 {
				break // IPv4 comes first
			}
			if !q.wants(res) || w.span.Extend(res.First, res.Last) {
				continue
			}
			if err := w.flush(); err != nil {
				return err
			}
			w.span = ipgeo.Span{First: res.First, Last: res.Last}
		}
		if len(missing) > 0 && !w.wrote { // what is known of the others is sent already
			return noCountry(missing[0])
		}
		if err := w.flush(); err != nil {
			return err
		}
		w.finish()
		return nil
	})
}

// mikrotik are the menus of RouterOS for address lists of a version of IP.
var mikrotik = map[string]string{"4": "/ip firewall address-list", "6": "/ipv6 firewall address-list"}

// rangesWriter writes networks in a format.
type rangesWriter struct {
	out   *web.Stream
	q     *rangesQuery
	span  ipgeo.Span // not yet written
	some  bool       // network is written, since the set began
	wrote bool       // network is written at all
	sets  string     // versions of IP whose sets have not begun yet
	open  bool       // a set of nftables is
}

func newRangesWriter(out *web.Stream, q *rangesQuery) *rangesWriter {
	w := &rangesWriter{out: out, q: q, sets: "46"}
	if q.version != 0 {
		w.sets = strconv.FormatInt(q.version, 10)
	}
	switch q.format {
	case "json":
		w.text(`{"networks":[`)
	case "csv":
		w.text("network\r\n")
	case "nft":
		w.text("table inet quadrille {\n")
	}
	return w
}

func (w *rangesWriter) text(parts ...string) {
	for _, s := range parts {
		w.out.Body = append(w.out.Body, s...)
	}
}

// flush writes the networks of the current range.
func (w *rangesWriter) flush() error {
	for p := range ipgeo.Networks(w.span.First, w.span.Last) {
		version := "6"
		if p.Addr().Is4() {
			version = "4"
		}
		w.begin(version)
		end := ""
		switch w.q.format {
		case "json":
			if w.some {
				w.text(",\n")
			}
			w.text(`"`)
			end = `"`
		case "ndjson":
			w.text(`{"network":"`)
			end = `"}`
		case "csv":
			end = "\r"
		case "nft":
			if w.some {
				w.text(",\n\t\t\t")
			} else {
				w.text("\t\telements = {\n\t\t\t")
			}
		case "ipset":
			w.text("add -exist ", w.q.name, "_", version, " ")
		case "nginx":
			end = " 1;"
		case "mikrotik":
			w.text(mikrotik[version], " add list=", w.q.name, " address=")
		}
		w.some, w.wrote = true, true
		w.out.Body = append(p.AppendTo(w.out.Body), end...)
		if w.q.format == "json" || w.q.format == "nft" { // a comma comes first
			if w.out.Full() {
				if err := w.out.Send(); err != nil {
					return err
				}
			}
		} else if err := w.out.Line(); err != nil {
			return err
		}
	}
	return nil
}

// begin begins the sets of all IP versions up to the given one. A version without networks has an
// empty set, so that rules about the set are valid.
func (w *rangesWriter) begin(version string) {
	for w.sets != "" && w.sets[:1] <= version {
		v := w.sets[:1]
		w.sets = w.sets[1:]
		switch w.q.format {
		case "nft":
			w.close()
			w.text("\tset ", w.q.name, "_", v, " {\n\t\ttype ipv", v, "_addr\n\t\tflags interval\n")
			w.open, w.some = true, false
		case "ipset":
			family := "inet"
			if v == "6" {
				family = "inet6"
			}
			// maxelem reserves no memory, and its default is too small for a large country.
			w.text("create -exist ", w.q.name, "_", v, " hash:net family ", family, " maxelem 16777216\n")
		}
	}
}

// close ends the open set of nftables.
func (w *rangesWriter) close() {
	if !w.open {
		return
	}
	if w.some {
		w.text("\n\t\t}\n")
	}
	w.text("\t}\n")
}

func (w *rangesWriter) finish() {
	w.begin("6")
	switch w.q.format {
	case "json":
		w.text("]}\n")
	case "nft":
		w.close()
		w.text("}\n")
	}
}
