package points

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/internal/columnname"
	misspelt "quadrille/cmd/internal/nearest"
	"quadrille/feature"
	"quadrille/places/search"
	"quadrille/quadkey"
	"quadrille/tiles"
)

// ErrNoRegions is matched if no region can be found for the rows of a file.
var ErrNoRegions = errors.New("rows name no regions")

// These are the reasons of rows whose region is not known.
const (
	reasonNoRegion  = "names no region of the layer"
	reasonHomonym   = "names several regions of the layer"
	sampledRegional = 1000 // rows that decide which column names the regions
)

// regional finds the regions of a layer that the rows of a file name. Rows then get the ids and the
// places of their regions.
type regional struct {
	layer  feature.Layer
	column string // of the rows; "" before it is chosen
	by     string // the property of the regions that it has: id, name or another
	told   string // the column that the user names, or ""
	byKey  map[string]regionOf
	names  []string // the values of by, for hints
	hints  int
	said   string // of the last file
}

// regionOf is a region, or several with one value.
type regionOf struct {
	id, name string
	at       quadkey.Position
	others   []string // ids
}

// openRegional returns the finder for a published layer. done must be called at the end.
func openRegional(ctx context.Context, c *dataset.Catalog, typ, told string) (_ *regional, done func() error, err error) {
	var readers []*tiles.Reader
	var generations []*dataset.Generation
	done = func() (err error) {
		for _, g := range generations {
			err = errors.Join(err, g.Close())
		}
		return err
	}
	add := func(r *tiles.Reader, g *dataset.Generation, err error) error {
		if g != nil {
			generations, readers = append(generations, g), append(readers, r)
		}
		return err
	}
	if err := add(job.OpenCurrent(ctx, c, ask.Boundaries)); err != nil {
		return nil, done, err
	}
	all, err := c.Datasets(ctx)
	if err != nil {
		return nil, done, err
	}
	for _, name := range all {
		set, ok := strings.CutPrefix(name, ask.RegionSetPrefix)
		if !ok {
			continue
		}
		s, g, err := job.OpenCurrent(ctx, c, ask.RegionSetOf(set))
		if err == nil && g != nil {
			err = add(s.Reader, g, nil)
		}
		if err != nil {
			return nil, done, err
		}
	}
	l, err := tiles.Join(readers...).Layer(typ)
	if err != nil {
		return nil, done, fmt.Errorf("--values-of %s: %w: ingest boundaries publishes it", typ, err)
	}
	return &regional{layer: l, told: told}, done, nil
}

// regionKey returns the form in which a value of a row and one of a region are compared: without case,
// accents and punctuation, and numbers without leading zeros, which spreadsheets lose, and without the
// fraction .0, which they add.
func regionKey(text string) string {
	if whole, ok := strings.CutSuffix(strings.TrimSpace(text), ".0"); ok && strings.Trim(whole, "0123456789") == "" {
		text = whole
	}
	key := string(search.Fold(nil, text))
	if short := strings.TrimLeft(key, "0"); short != "" && strings.Trim(short, "0123456789") == "" {
		return short
	}
	return key
}

// keyed yields the values of a region that may name it.
func keyed(f *feature.Feature) iter.Seq2[string, string] {
	return func(yield func(property, text string) bool) {
		if !yield("id", f.ID) {
			return
		}
		for name, v := range f.Properties.All() {
			text := ""
			if _, whole := v.Integer(); whole || v.Kind() == feature.Text {
				text = v.Text()
			}
			if text != "" && name != "id" && name != "type" && name != "map_color" && !yield(name, text) {
				return
			}
		}
	}
}

// choose decides from some rows which column names the regions, by which of their properties: those
// that agree most often.
func (r *regional) choose(ctx context.Context, path string, rows [][]source.Member) error {
	type pair struct{ property, column string }
	columns := map[string][]string{} // by key: the columns that have it
	distinct := map[string]int{}     // keys of a column
	var names []string
	for _, members := range rows {
		for _, m := range members {
			if !slices.Contains(names, m.Name) {
				names = append(names, m.Name)
			}
			text := string(source.TextOf(m.Value))
			if key := regionKey(text); key != "" && (r.told == "" || m.Name == r.told) && !slices.Contains(columns[key], m.Name) {
				columns[key] = append(columns[key], m.Name)
				distinct[m.Name]++
			}
		}
	}
	if r.told != "" && !slices.Contains(names, r.told) {
		return fmt.Errorf("%s: there is no column %s, as --id says; there are %s", path, source.Excerpt(r.told), columnname.List(names))
	}
	// A value that several regions have, such as the country of states, names none of them.
	regions := map[pair]map[string]int{}
	for f, err := range r.layer.Features(ctx, &feature.Query{Detail: feature.WithoutGeometry}) {
		if err != nil {
			return err
		}
		for property, text := range keyed(f) {
			key := regionKey(text)
			for _, column := range columns[key] {
				of := regions[pair{property, column}]
				if of == nil {
					of = map[string]int{}
					regions[pair{property, column}] = of
				}
				of[key]++
			}
		}
	}
	var best pair
	found := map[pair]int{}
	rank := func(p pair) int { return slices.Index([]string{"", "name", "id"}, p.property) + 1 } // among equals the id
	for p, of := range regions {
		for _, n := range of {
			if n == 1 {
				found[p]++
			}
		}
	}
	for p, n := range found {
		if best.column == "" || cmp.Or(
			cmp.Compare(n, found[best]),
			cmp.Compare(slices.Index(names, best.column), slices.Index(names, p.column)),
			cmp.Compare(rank(p), rank(best)),
			cmp.Compare(best.property, p.property),
		) > 0 {
			best = p
		}
	}
	if best.column == "" || r.told == "" && 2*len(regions[best]) < distinct[best.column] { // a few numbers are codes by chance
		return fmt.Errorf("%s: %w of %s: no column has their ids, codes or names; there are %s; name one by --id, or ingest the layer "+
			"that they are of", path, ErrNoRegions, r.layer.Info().Name, columnname.List(names))
	}
	r.column, r.by, r.byKey, r.names = best.column, best.property, map[string]regionOf{}, nil
	for f, err := range r.layer.Features(ctx, &feature.Query{Detail: feature.WithoutGeometry}) {
		if err != nil {
			return err
		}
		for property, text := range keyed(f) {
			if property != r.by {
				continue
			}
			key := regionKey(text)
			of, ok := r.byKey[key]
			if !ok {
				of = regionOf{id: f.ID, name: f.Properties.Text("name"), at: f.Position}
				r.names = append(r.names, text)
			}
			of.others = append(of.others, f.ID)
			r.byKey[key] = of
		}
	}
	return nil
}

// rows yields the features of a file, once the first of them have decided which column names their
// regions.
func (r *regional) rows(
	ctx context.Context, path string, rep job.Reporter, in iter.Seq2[source.Feature, error],
) iter.Seq2[source.Feature, error] {
	type row struct {
		source.Feature
		err error
	}
	return func(yield func(source.Feature, error) bool) {
		var ahead []row
		begin := func() bool {
			var rows [][]source.Member
			for _, a := range ahead {
				rows = append(rows, a.Members)
			}
			if err := r.choose(ctx, path, rows); err != nil {
				yield(source.Feature{}, err)
				return false
			}
			text := fmt.Sprintf("%s: %s is the %s of regions of %s", path, strconv.Quote(r.column), r.by, r.layer.Info().Name)
			if text != r.said {
				rep.Note(text)
				r.said = text // a file may be read twice
			}
			for _, a := range ahead {
				if !yield(a.Feature, a.err) {
					return false
				}
			}
			ahead = nil
			return true
		}
		r.column = ""
		for f, err := range in {
			if r.column != "" || err != nil && !errors.As(err, new(*source.BadRecord)) {
				if !yield(f, err) {
					return
				}
				continue
			}
			for i := range f.Members {
				f.Members[i].Value = bytes.Clone(f.Members[i].Value)
			}
			f.Members = slices.Clone(f.Members)
			if ahead = append(ahead, row{f, err}); len(ahead) == sampledRegional && !begin() {
				return
			}
		}
		if r.column == "" && len(ahead) > 0 {
			begin()
		}
	}
}

// few lists some ids.
func few(ids []string) string {
	const most = 5
	if len(ids) > most {
		return columnname.List(ids[:most]) + " and " + strconv.Itoa(len(ids)-most) + " more"
	}
	return columnname.List(ids)
}

// place returns the region that a row names, or why there is none.
func (r *regional) place(members []source.Member) (of regionOf, reason, detail string) {
	i := slices.IndexFunc(members, func(m source.Member) bool { return m.Name == r.column })
	if i < 0 {
		return of, reasonNoRegion, r.column + " is empty"
	}
	text := string(source.TextOf(members[i].Value))
	of, ok := r.byKey[regionKey(text)]
	switch {
	case !ok:
		detail = r.column + " is " + source.Excerpt(text)
		if r.hints++; r.hints <= 20 {
			if meant, near := misspelt.Name(text, r.names); near {
				detail += ", and near to it is " + source.Excerpt(meant)
			}
		}
		return of, reasonNoRegion, detail
	case len(of.others) > 1:
		return of, reasonHomonym, fmt.Sprintf("%s is %s, which are %s: use a column of ids or codes", r.column, source.Excerpt(text),
			few(of.others))
	}
	return of, "", ""
}
