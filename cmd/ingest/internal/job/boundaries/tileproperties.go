package boundaries

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/feature"
	"quadrille/tiles"
	"quadrille/tiles/build"
)

// Tiles have some properties of regions beside their ids and names. A request can name any; these are
// for clients that name none. They have to be few, since every tile with the region repeats them.
const maxMeanBytes = 64 // of the properties of a region

// ErrNoProperty is matched if no layer has a property that tiles are to have.
var ErrNoProperty = errors.New("no such property")

// usualColumns returns the properties of a layer that its tiles have unless a request names others,
// and converts declared numbers. said are the properties that the user names; if there are none, it
// chooses all if they are few, and reports that.
func usualColumns(l *build.Layer, said []feature.Field, rep job.Reporter) (names []string, err error) {
	var columns []column
	at := map[string]int{}
	for i := range l.Features {
		for _, p := range l.Features[i].Properties {
			n, ok := at[p.Name]
			if !ok {
				n = len(columns)
				at[p.Name] = n
				columns = append(columns, column{name: p.Name})
			}
			columns[n].add(&l.Features[i], p.Value)
		}
	}
	meta := tiles.TypeMeta{}
	for _, c := range columns {
		meta.Schema = append(meta.Schema, feature.Field{Name: c.name, Kind: feature.Any})
	}
	columns = slices.DeleteFunc(columns, func(c column) bool {
		own := !slices.ContainsFunc(meta.ColumnFields(), func(f feature.Field) bool { return f.Name == c.name })
		return own || c.nested
	})
	if len(said) == 0 && !presetFor(l.Type).isCustom {
		return nil, nil
	}
	if len(said) == 0 {
		return fewColumns(l, slices.DeleteFunc(columns, func(c column) bool { return !c.news }), rep), nil
	}
	for _, f := range said {
		if !slices.ContainsFunc(columns, func(c column) bool { return c.name == f.Name }) {
			continue
		}
		names = append(names, f.Name)
		if f.Kind == feature.Number || f.Kind == feature.Integer {
			if err := toNumbers(l, f.Name); err != nil {
				return nil, err
			}
		}
	}
	if len(names) > tiles.MaxColumns {
		return nil, fmt.Errorf("--property: tiles of %s can have %d properties, not %d: name fewer; a request can name others by fields=",
			l.Type, tiles.MaxColumns, len(names))
	}
	return names, nil
}

// column sums up the values of a property.
type column struct {
	name   string
	bytes  int
	nested bool // some are lists or objects
	news   bool // some differ from the id and the name of their region
}

func (c *column) add(f *build.Feature, v any) {
	text, isText := v.(string)
	c.news = c.news || !isText || !strings.EqualFold(text, f.ID) && text != f.Name
	switch v := v.(type) {
	case string:
		c.bytes += min(len(v), tiles.MaxColumnBytes)
	case json.RawMessage:
		c.nested = true
	default:
		c.bytes += 8
	}
}

// fewColumns returns all columns if they are few and small.
func fewColumns(l *build.Layer, columns []column, rep job.Reporter) (names []string) {
	if len(columns) == 0 {
		return nil
	}
	left := maxMeanBytes * len(l.Features)
	var large []string
	for _, c := range columns {
		if left -= c.bytes; left < 0 {
			left += c.bytes
			large = append(large, c.name)
			continue
		}
		names = append(names, c.name)
	}
	const how = "; --property NAME chooses, and fields= in an address any others"
	if len(columns) > tiles.MaxColumns {
		rep.Note(fmt.Sprintf("%s: it has %d properties, so tiles have none of them beside ids and names%s", l.Type, len(columns), how))
		return nil
	}
	text := l.Type + ": tiles have the properties " + strings.Join(names, ", ")
	if len(names) == 0 {
		text = l.Type + ": tiles have no properties beside ids and names"
	}
	if len(large) > 0 {
		text += ", and not the long ones " + strings.Join(large, ", ")
	}
	rep.Note(text + how)
	return names
}

// toNumbers makes numbers of the texts of a property.
func toNumbers(l *build.Layer, name string) error {
	for i := range l.Features {
		f := &l.Features[i]
		for j := range f.Properties {
			text, ok := f.Properties[j].Value.(string)
			if f.Properties[j].Name != name || !ok {
				continue
			}
			if text = strings.TrimSpace(text); isEmptyNumber(text) {
				f.Properties[j].Value = ""
				continue
			}
			if n, err := strconv.ParseInt(text, 10, 64); err == nil {
				f.Properties[j].Value = n
			} else if n, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(n) && !math.IsInf(n, 0) {
				f.Properties[j].Value = n
			} else {
				return fmt.Errorf("%s %s: %s is %s, which is no number: leave :number out of --property, or correct the file",
					l.Type, f.ID, name, source.Excerpt(text))
			}
		}
		f.Properties = slices.DeleteFunc(f.Properties, func(p build.Property) bool {
			text, ok := p.Value.(string)
			return ok && p.Name == name && text == ""
		})
	}
	return nil
}

// isEmptyNumber reports whether a text stands for no number, as in tables.
func isEmptyNumber(text string) bool {
	return source.EmptyWords.Has([]byte(text)) || text == ""
}

// usual returns the columns of tiles by type. said are those that the user names: for the layers that
// are read from files, or for kept ones if all are kept. Other kept layers have those that they had.
func usual(layers []*layer, built []build.Layer, said []feature.Field, rep job.Reporter) (map[string][]string, error) {
	all := map[string][]string{}
	found := map[string]bool{}
	onlyKept := !slices.ContainsFunc(layers, func(l *layer) bool { return !l.kept })
	for i, l := range layers {
		own := said
		if l.kept && !onlyKept {
			own = nil
		}
		var names []string
		if own != nil || l.inTiles == nil {
			var err error
			if names, err = usualColumns(&built[i], own, rep); err != nil {
				return nil, err
			}
		}
		for _, name := range names {
			found[name] = true
		}
		if names == nil {
			names = l.inTiles
		}
		all[l.typ], l.inTiles = names, append([]string{}, names...)
	}
	for _, f := range said {
		if !found[f.Name] {
			return nil, fmt.Errorf("--property %s: %w in %s: use one that its files have, whose values are texts, numbers or booleans",
				f.Name, ErrNoProperty, typesOf(layers))
		}
	}
	return all, nil
}

// typesOf lists the types that were read from files, or else the kept ones.
func typesOf(layers []*layer) string {
	var types []string
	for _, l := range layers {
		if !l.kept || !slices.ContainsFunc(layers, func(l *layer) bool { return !l.kept }) {
			types = append(types, l.typ)
		}
	}
	return strings.Join(types, ", ")
}
