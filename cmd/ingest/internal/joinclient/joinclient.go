// Package joinclient adds columns to rows by a running tileserver, which answers POST /join.
package joinclient

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"quadrille/ask/enrich"
	"quadrille/cmd/ingest/internal/serverclient"
	"quadrille/feature"
	"quadrille/internal/jsontext"
	"quadrille/quadkey"
)

const (
	// maxRows and maxBytes bound a request. They are below the default limits of tileserver.
	maxRows  = 20_000
	maxBytes = 4 << 20
	maxLine  = 1 << 20 // of an answer
)

// Plan is a plan whose columns a server makes. Any number of goroutines may use it.
type Plan struct {
	server  *serverclient.Client
	url     string
	columns []enrich.Column
	inputs  []string
	rows    int // most rows of a request

	keys  [][]byte // of the members of a row: latitude, longitude and the inputs, each once
	input []int    // for each key from the third on, the index among inputs
	added []string // names of the added members
	flaw  string   // name of the member with reasons
	// lat and lon are the columns with the positions of texts, or -1.
	lat, lon int
}

// New asks the server what it adds for a request. The goroutines that use the plan call OnRetry and Wait of the server.
func New(ctx context.Context, server *serverclient.Client, r *enrich.Request) (*Plan, error) {
	p := &Plan{server: server}
	q := r.Query()
	join := server.Server.JoinPath("join")
	var of struct {
		Columns []enrich.Column `json:"columns"`
		Error   string          `json:"error"`
		Inputs  []string        `json:"inputs"`
		MaxRows int             `json:"max_rows"`
	}
	join.RawQuery = q.Encode()
	err := server.Repeat(ctx, func() (int, error) {
		res, cancel, err := server.Do(ctx, &serverclient.Request{Method: http.MethodGet, URL: join.String()})
		if err != nil {
			return 0, err
		}
		defer cancel()
		defer res.Body.Close()
		if err := json.NewDecoder(io.LimitReader(res.Body, maxLine)).Decode(&of); err != nil || of.Columns == nil || of.Error == "" || of.MaxRows <= 0 {
			return 0, serverclient.Final(fmt.Errorf("%s describes no columns: name a tileserver of this version, "+
				"with its base path if it has one", join))
		}
		return 0, nil
	})
	if err != nil {
		return nil, err
	}
	p.lat, p.lon = -1, -1
	for i, c := range of.Columns {
		if len(r.Geocode) == 0 {
			break
		}
		switch c.Name {
		case enrich.GeocodeLat:
			p.lat = i
		case enrich.GeocodeLon:
			p.lon = i
		}
	}
	p.columns, p.inputs, p.rows = of.Columns, of.Inputs, min(of.MaxRows, maxRows)
	p.name(q, of.Error)
	join.RawQuery = q.Encode()
	p.url = join.String()
	return p, nil
}

// name chooses the names of the members of a row, so that none stands for two things, and tells the server.
func (p *Plan) name(q url.Values, flaw string) {
	lat, lon, prefix := "lat", "lon", "added_"
	for slices.ContainsFunc(p.inputs, func(name string) bool { return name == lat || name == lon || strings.HasPrefix(name, prefix) }) {
		lat, lon, prefix = "_"+lat, "_"+lon, "_"+prefix
	}
	q.Set("lat", lat)
	q.Set("lon", lon)
	q.Set("prefix", prefix)
	add := func(name string) { p.keys = append(p.keys, append(jsontext.AppendString(nil, name), ':')) }
	add(lat)
	add(lon)
	for i, name := range p.inputs {
		if slices.Index(p.inputs, name) == i {
			add(name)
			p.input = append(p.input, i)
		}
	}
	for _, c := range p.columns {
		p.added = append(p.added, prefix+c.Name)
	}
	p.flaw = prefix + flaw
}

// Columns returns the added columns, without a prefix. The caller must not change them.
func (p *Plan) Columns() []enrich.Column { return p.columns }

// Inputs returns the names of the columns of the table that the server needs beside positions.
func (p *Plan) Inputs() []string { return p.inputs }

// Filler returns a function for one goroutine, which does what enrich.Filler.FillParts does.
func (p *Plan) Filler() func(ctx context.Context, c *enrich.Chunk, take func(from, to int, cells []enrich.Cells) error) error {
	f := &filler{plan: p, cells: make([]enrich.Cells, len(p.columns))}
	return f.fill
}

type filler struct {
	plan  *Plan
	cells []enrich.Cells // of the rows from from on
	from  int
	take  func(from, to int, cells []enrich.Cells) error
	body  []byte
}

func (f *filler) fill(ctx context.Context, c *enrich.Chunk, take func(from, to int, cells []enrich.Cells) error) error {
	f.from, f.take = 0, take
	f.reset()
	for done := 0; done < len(c.Points); {
		n := f.encode(c, done)
		err := f.plan.server.Repeat(ctx, func() (int, error) {
			answered, err := f.post(ctx, c, done, n)
			if done += answered; err != nil && answered > 0 {
				n = f.encode(c, done)
			}
			return answered, err
		})
		if err != nil {
			return err
		}
	}
	return f.pass(len(c.Points))
}

func (f *filler) reset() {
	for i := range f.cells {
		f.cells[i].Reset()
	}
}

// pass passes on the cells of the rows up to, but not including, to.
func (f *filler) pass(to int) error {
	if to == f.from {
		return nil
	}
	err := f.take(f.from, to, f.cells)
	f.from = to
	f.reset()
	return err
}

// full reports whether the cells take much memory.
func (f *filler) full() bool {
	size := 0
	for i := range f.cells {
		size += f.cells[i].Size()
	}
	return size > maxBytes
}

// encode makes the body for the rows from first on, and returns their number.
func (f *filler) encode(c *enrich.Chunk, first int) (rows int) {
	f.body = f.body[:0]
	for i := first; i < len(c.Points) && rows < f.plan.rows && len(f.body) < maxBytes; i++ {
		f.body = append(f.body, '{')
		if p := c.Points[i]; p.Valid() {
			f.body = strconv.AppendFloat(append(f.body, f.plan.keys[0]...), p.Lat, 'f', -1, 64)
			f.body = append(append(f.body, ','), f.plan.keys[1]...)
			f.body = strconv.AppendFloat(f.body, p.Lon, 'f', -1, 64)
		} else {
			f.body = append(append(f.body, f.plan.keys[0]...), "null"...) // a column may be called features
		}
		for k, input := range f.plan.input {
			f.body = append(jsontext.Next(f.body), f.plan.keys[2+k]...)
			f.body = jsontext.AppendString(f.body, text(c.Inputs[input].At(i)))
		}
		f.body = append(f.body, "}\n"...)
		rows++
	}
	return rows
}

// text returns the text of a cell as JSON can have it.
func text(cell []byte) string {
	if utf8.Valid(cell) {
		return string(cell)
	}
	return strings.ToValidUTF8(string(cell), "\ufffd")
}

// post sends a request of n rows and reads the answers to its first rows. If there is no error, they are the answers to
// all.
func (f *filler) post(ctx context.Context, c *enrich.Chunk, first, n int) (answered int, err error) {
	p := f.plan
	res, cancel, err := p.server.Do(ctx, &serverclient.Request{
		Method: http.MethodPost, URL: p.url, ContentType: "application/x-ndjson", Body: f.body,
	})
	if err != nil {
		return 0, err
	}
	defer cancel()
	defer res.Body.Close()
	in := bufio.NewScanner(res.Body)
	in.Buffer(nil, maxLine)
	for in.Scan() && answered < n {
		line := in.Bytes()
		flaw, _ := feature.Member(line, p.flaw)
		if refusal, _ := feature.Member(line, "error"); len(refusal) > 0 && refusal[0] == '{' {
			err := refused(p.url, refusal)
			number, _ := feature.Member(line, "line")
			if err.Type != "bad-line" || string(number) != strconv.Itoa(answered+1) {
				return answered, err
			}
			f.addEmpty(c, first+answered, err.Detail) // the server goes on
			answered++
			continue
		}
		for k := range f.cells {
			value, known := feature.Member(line, p.added[k])
			switch {
			case !known:
				return answered, serverclient.Final(fmt.Errorf("%s answers without %s: is this another version of the server?",
					p.url, p.columns[k].Name))
			case feature.IsText(value):
				value = feature.TextOf(value)
			case string(value) == "null":
				value = nil
			}
			f.cells[k].AddBytes(value)
		}
		f.locate(c, first+answered)
		if feature.IsText(flaw) {
			f.explain(c, first+answered, string(feature.TextOf(flaw)))
		}
		if answered++; f.full() {
			if err := f.pass(first + answered); err != nil {
				return answered, serverclient.Final(err)
			}
		}
	}
	switch err := in.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return answered, serverclient.Final(fmt.Errorf("%s: the answer to a row has more than %d bytes: ask for fewer columns at once",
			p.url, maxLine))
	case err != nil:
		return answered, err
	}
	if answered < n {
		return answered, fmt.Errorf("%s: the answer ends after %d of %d rows", p.url, answered, n)
	}
	return answered, nil
}

// locate gives a row without a position the one of its text, as a local plan does.
func (f *filler) locate(c *enrich.Chunk, row int) {
	p := f.plan
	if p.lat < 0 || p.lon < 0 || c.Points[row].Valid() {
		return
	}
	at := row - f.from
	lat, err := strconv.ParseFloat(string(f.cells[p.lat].At(at)), 64)
	lon, failed := strconv.ParseFloat(string(f.cells[p.lon].At(at)), 64)
	if err == nil && failed == nil {
		c.Points[row] = quadkey.Position{Lat: lat, Lon: lon}
	}
}

// addEmpty adds a row without answers.
func (f *filler) addEmpty(c *enrich.Chunk, row int, reason string) {
	for k := range f.cells {
		f.cells[k].AddBytes(nil)
	}
	if c.Bad != nil {
		c.Bad(row, "the server refuses it: "+strings.TrimSuffix(reason, "."), "")
	}
}

// refused returns the error of a request that the server does not go on with.
func refused(url string, refusal []byte) *serverclient.RefusedError {
	var of struct{ Type, Title, Detail string }
	_ = json.Unmarshal(refusal, &of) // what it says is for people
	e := &serverclient.RefusedError{URL: url, Status: http.StatusServiceUnavailable, Type: of.Type, Title: of.Title, Detail: of.Detail}
	if slices.Contains([]string{"bad-line", "bad-parameter", "batch-too-long"}, of.Type) {
		e.Status = http.StatusBadRequest
	}
	return e
}

// explain passes on why cells of a row are empty.
func (f *filler) explain(c *enrich.Chunk, row int, flaw string) {
	flaw = strings.TrimPrefix(strings.TrimPrefix(flaw, enrich.ReasonNoPosition), "; ") // the caller knows
	if flaw == "" || c.Bad == nil {
		return
	}
	reason, detail, _ := strings.Cut(flaw, ": ")
	c.Bad(row, reason, detail)
}
