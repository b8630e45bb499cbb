package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"quadrille/cmd/internal/toyworld"
	"quadrille/quadkey"
)

// answer is a request and the tile server's answer to it. The bare server gives the same answer.
type answer struct {
	Path      string
	Accept    string // Accept-Encoding, "" for none
	Forwarded string // X-Forwarded-For, "" for none
	Match     string // If-None-Match, "" for none
	Status    int    // 0 is 200
	Type      string
	Encoding  string
	ETag      string
	Body      []byte
}

func (a *answer) status() int { return cmp.Or(a.Status, http.StatusOK) }

// request returns the bytes that go over the connection to a host.
func (a *answer) request(host string) []byte {
	b := fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\n", a.Path, host)
	for _, h := range [...]struct{ name, value string }{
		{"Accept-Encoding", a.Accept},
		{"X-Forwarded-For", a.Forwarded},
		{"If-None-Match", a.Match},
	} {
		if h.value != "" {
			b = fmt.Appendf(b, "%s: %s\r\n", h.name, h.value)
		}
	}
	return append(b, "\r\n"...)
}

// scenario is one row of the table: requests to the tile server, and their baseline.
type scenario struct {
	Name    string
	Answers []answer
	// Own are other requests to the tile server itself, with which the scenario is compared. If
	// there are none, the scenario is compared with the bare handler that writes the same bytes.
	Own     []answer
	Against string // the name of the comparator
	Budget  float64
}

// budget is the share of the bare handler's rate that the server has to reach.
const budget = 0.85

// against is the name of the baseline of most scenarios.
const against = "bare echo handler, same bytes"

// points are the positions of requested tiles: in the invented world, in France and in Kansas.
// Tiles that show nothing are left out.
var points = []struct{ lon, lat float64 }{{toyworld.MiddleLon + 0.1, 48.5}, {2.3522, 48.8566}, {-98.3, 38.5}}

// scenarios reads the answers for the measurement from a tile server.
func scenarios(ctx context.Context, url string) ([]scenario, error) {
	types, err := regionTypes(ctx, url)
	if err != nil {
		return nil, err
	}
	two := strings.Join(types[:min(len(types), 2)], ",")
	var all []scenario
	for _, s := range []struct {
		name, layers, ext string
		from, to          uint8
		coding            string
	}{
		{tilesLow, types[0], "mvt", 4, 7, ""},
		{tilesHigh, two, "mvt", 10, 13, ""},
		{"tile, GeoJSON, z 10–13, 2 layers", two, "geojson", 10, 13, ""},
		{"tile, GeoJSON, z 4–7, gzip", types[0], "geojson", 4, 7, "gzip"},
		{"tile, GeoJSON, z 4–7, brotli", types[0], "geojson", 4, 7, "br"},
	} {
		var requests []answer
		for _, p := range points {
			for z := s.from; z <= s.to; z++ {
				t, err := quadkey.TileAt(p.lon, p.lat, z)
				if err != nil {
					return nil, err
				}
				requests = append(requests, answer{Path: "/tiles/" + s.layers + "/" + t.String() + "." + s.ext, Accept: s.coding})
			}
		}
		if all, err = add(ctx, all, url, s.name, requests, 1); err != nil {
			return nil, err
		}
		if s.name == tilesLow {
			all = append(all, notModified(all[len(all)-1].Answers))
		}
	}
	var asked, own []answer
	for i := range 4000 {
		// The addresses are spread over all of IPv4, for data sets of the real Internet.
		n := uint32(i) * 1_073_807
		for _, a := range []string{
			toyworld.Address(i * 7).String(),
			netip.AddrFrom4([4]byte{byte(1 + n%223), byte(n >> 16), byte(n >> 8), byte(n)}).String(),
		} {
			asked = append(asked, answer{Path: "/ip/" + a})
			own = append(own, answer{Path: "/ip/me", Forwarded: a})
		}
	}
	if all, err = add(ctx, all, url, addresses, asked, 100); err != nil {
		return nil, err
	}
	if all, err = add(ctx, all, url, "IP address of the caller", own, 100); err != nil {
		return nil, err
	}
	// These are beginnings of names as people type them. The ingest has stored their answers.
	var typed []answer
	for a := 'a'; a <= 'z'; a++ {
		typed = append(typed, answer{Path: "/places/search?q=" + string(a)})
		for b := 'a'; b <= 'z'; b++ {
			typed = append(typed, answer{Path: "/places/search?q=" + string([]rune{a, b})})
		}
	}
	for n := range 100 { // the made-up world's names
		typed = append(typed, answer{Path: "/places/search?q=place+" + strconv.Itoa(n)})
	}
	if all, err = add(ctx, all, url, completions, typed, 10); err != nil {
		return nil, err
	}
	return addPoints(ctx, all, url)
}

// addPoints appends the scenarios of single points and of names, whose answers are computed each
// time.
func addPoints(ctx context.Context, all []scenario, url string) (_ []scenario, err error) {
	var reverse, at, named []answer
	for i := range 400 { // of Europe, and of the made-up world
		point := fmt.Sprintf("lat=%d.%02d&lon=%d.%02d", 43+i%10, i*37%100, 2+i/40, i*61%100)
		reverse = append(reverse, answer{Path: "/reverse?" + point})
		at = append(at, answer{Path: "/at?at=2026-07-01T12:00:00Z&" + point})
		named = append(named, answer{Path: "/geocode?limit=5&q=" + string([]rune{'a' + rune(i%26), 'a' + rune(i/26)})})
	}
	// Each of these is asked once, or a few times: the answers' parts have to be found in large tables.
	var reverseFar, atFar []answer
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		point := fmt.Sprintf("lat=%.4f&lon=%.4f", rng.Float64()*125-55, rng.Float64()*360-180)
		reverseFar = append(reverseFar, answer{Path: "/reverse?" + point})
		atFar = append(atFar, answer{Path: "/at?at=2026-07-01T12:00:00Z&" + point})
	}
	whole, err := placeNames(ctx, url)
	if err != nil {
		return nil, err
	}
	for _, s := range []struct {
		name     string
		requests []answer
		budget   float64
	}{
		{"reverse", reverse, 0.7},
		{"reverse, distinct points", reverseFar, 0.5},
		{"everything about a point", at, 0.6},
		{"everything about distinct points", atFar, 0.45},
		{"geocode", named, 0},
		{"geocode, distinct names", whole, 0},
	} {
		if all, err = add(ctx, all, url, s.name, s.requests, 10); err != nil {
			return nil, err
		}
		all[len(all)-1].Budget = s.budget
	}
	// The pages have 1,000 features, uncompressed and compressed.
	for _, coding := range []string{"", "gzip"} {
		var pages []answer
		for _, collection := range []string{"country", "state", "county", "places", "airports"} {
			pages = append(pages, answer{Path: "/ogc/collections/" + collection + "/items?limit=1000", Accept: coding})
		}
		name := featurePages
		if coding != "" {
			name += ", " + coding
		}
		if all, err = add(ctx, all, url, name, pages, 2); err != nil {
			return nil, err
		}
		all[len(all)-1].Budget = 0.7
	}
	return all, nil
}

// placeNames returns requests for the names of places from all over the world, each once.
func placeNames(ctx context.Context, server string) (requests []answer, err error) {
	seen := map[string]bool{}
	for west := -180; west < 180; west += 10 {
		page := answer{Path: fmt.Sprintf("/ogc/collections/places/items?limit=1000&bbox=%d,-60,%d,75", west, west+10)}
		if err := page.fetch(ctx, server); err != nil {
			return nil, err
		}
		var list struct {
			Features []struct{ Properties struct{ Name string } }
		}
		if page.Status == http.StatusOK {
			if err := json.Unmarshal(page.Body, &list); err != nil {
				return nil, fmt.Errorf("%s: %w", page.Path, err)
			}
		}
		for i := range list.Features {
			if name := list.Features[i].Properties.Name; !seen[name] {
				seen[name] = true
				requests = append(requests, answer{Path: "/geocode?limit=5&q=" + url.QueryEscape(name)})
			}
		}
	}
	// Neighbours in the list are neighbours in the tables.
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(requests), func(i, k int) { requests[i], requests[k] = requests[k], requests[i] })
	return requests, nil
}

// These scenarios are also measured in other ways.
const (
	tilesLow    = "tile, MVT, z 4–7, 1 layer"
	tilesHigh   = "tile, MVT, z 10–13, 2 layers"
	addresses   = "IP address"
	completions = "autocomplete, finished"
	// featurePages is the prefix of the names of two scenarios.
	featurePages = "features, pages of 1,000"
)

// notModified returns a scenario that requests tiles with the ETags of the client's copies. It is
// compared with requests for the same tiles without ETags.
func notModified(tiles []answer) scenario {
	s := scenario{Name: "304 by the ETag of such a tile", Own: tiles, Against: "our own 200 of the same tile", Budget: 1}
	for _, a := range tiles {
		a.Match, a.Status, a.Body = a.ETag, http.StatusNotModified, nil
		s.Answers = append(s.Answers, a)
	}
	return s
}

// add appends a scenario of those requests whose answers have content, in the requested coding.
func add(ctx context.Context, all []scenario, url, name string, requests []answer, least int) ([]scenario, error) {
	s := scenario{Name: name, Against: against, Budget: budget}
	for _, a := range requests {
		if err := a.fetch(ctx, url); err != nil {
			return nil, err
		}
		if a.Status == http.StatusOK && a.Encoding == a.Accept && len(a.Body) > len(`{"places":[]}`) {
			s.Answers = append(s.Answers, a)
		}
	}
	if len(s.Answers) < least {
		return nil, fmt.Errorf("%s: only %d of %d requests have content: publish more data, or leave --data out", name,
			len(s.Answers), len(requests))
	}
	return append(all, s), nil
}

func regionTypes(ctx context.Context, url string) ([]string, error) {
	a := answer{Path: "/status"}
	if err := a.fetch(ctx, url); err != nil {
		return nil, err
	}
	var status struct {
		Datasets []struct {
			Types []struct{ Name string } `json:"types"`
		} `json:"datasets"`
	}
	if err := json.Unmarshal(a.Body, &status); err != nil {
		return nil, err
	}
	var names []string
	for _, d := range status.Datasets {
		for _, t := range d.Types {
			names = append(names, t.Name)
		}
	}
	if len(names) == 0 {
		return nil, errors.New("no boundaries are published: publish some, or leave --data out")
	}
	return names, nil
}

// fetch sends the request and fills in the answer. Only an answer with status 200 has a body: the
// text of a refusal does not matter.
func (a *answer) fetch(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+a.Path, nil)
	if err != nil {
		return err
	}
	// With this header set, the client does not decode the body by itself.
	req.Header.Set("Accept-Encoding", cmp.Or(a.Accept, "identity"))
	if a.Forwarded != "" {
		req.Header.Set("X-Forwarded-For", a.Forwarded)
	}
	if a.Match != "" {
		req.Header.Set("If-None-Match", a.Match)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	a.Status, a.Type = res.StatusCode, res.Header.Get("Content-Type")
	a.Encoding, a.ETag = res.Header.Get("Content-Encoding"), res.Header.Get("ETag")
	switch {
	case res.StatusCode == http.StatusOK:
		a.Body = body
	case res.StatusCode >= 500:
		return fmt.Errorf("%s: %s: %s", a.Path, res.Status, body)
	}
	return nil
}
