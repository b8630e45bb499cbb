package points_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"quadrille/cellstore/pebblestore"
	"quadrille/feature"
	"quadrille/internal/must"
	"quadrille/places/points"
	"quadrille/quadkey"
)

// typesModel is a slow model of a collection: it derives types from all values.
type typesModel struct {
	points   map[string]map[string]any
	declared map[string]feature.Kind
	last     map[string]feature.Kind // types of names that once had values
}

func valueOf(text string) (v any) {
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		panic(err)
	}
	return v
}

// typed returns the converted value for a declared type. gone is set if the value is left out.
func (m *typesModel) typed(name string, v any) (out any, gone, ok bool) {
	t := m.declared[name]
	list, isList := v.([]any)
	switch {
	case v == nil || t == feature.Null || t == feature.Any:
		return v, false, true
	case isList && len(list) == 0:
		return nil, true, true
	}
	switch v := v.(type) {
	case string:
		if t == feature.Text {
			return v, false, true
		}
		f, err := strconv.ParseFloat(v, 64)
		return f, false, err == nil
	case float64:
		if t == feature.Text {
			return strconv.FormatFloat(v, 'f', -1, 64), false, true
		}
		return v, false, true
	case bool:
		return strconv.FormatBool(v), false, t == feature.Text
	}
	return nil, false, false
}

// learn records the types of the present values.
func (m *typesModel) learn() {
	kinds := map[string]map[string]bool{}
	for _, properties := range m.points {
		for name, v := range properties {
			kind := ""
			switch v := v.(type) {
			case string:
				kind = "text"
				if _, err := time.Parse(time.DateOnly, v); err == nil {
					kind = "time"
				}
			case float64:
				kind = "number"
			case bool:
				kind = "boolean"
			case []any:
				if len(v) > 0 {
					kind = "texts"
				}
			case map[string]any:
				kind = "any"
			}
			if kinds[name] == nil {
				kinds[name] = map[string]bool{}
			}
			if kind != "" {
				kinds[name][kind] = true
			}
		}
	}
	for name, of := range kinds {
		switch all := slices.Sorted(maps.Keys(of)); {
		case len(all) == 1:
			field, _ := feature.ParseField(name, all[0])
			m.last[name] = field.Kind
		case slices.Equal(all, []string{"text", "time"}):
			m.last[name] = feature.Text
		case len(all) > 1:
			m.last[name] = feature.Any
		case m.last[name] == feature.Null:
			m.last[name] = feature.Any
		}
	}
}

// hasValues reports whether any point has a value of a property that determines its type.
func (m *typesModel) hasValues(name string) bool {
	for _, properties := range m.points {
		list, isList := properties[name].([]any)
		if properties[name] != nil && !(isList && len(list) == 0) {
			return true
		}
	}
	return false
}

func (m *typesModel) typeOf(name string) feature.Kind {
	if t := m.declared[name]; t != feature.Null {
		return t
	}
	return m.last[name]
}

var typeValues = []string{`1`, `2.5`, `"n/a"`, `"7"`, `true`, `"2026-01-01"`, `["a"]`, `[]`, `null`, `{"a":1}`}

// A property has its declared type, or the type of its present values. The meaning of a filter does
// not depend on other writes.
func TestTypesModel(t *testing.T) {
	store := must.Get(pebblestore.Open("s", &pebblestore.Options{FS: vfs.NewMem()})).In(t)
	must.Close(t, store)
	names := []string{"price", "price.lt", "has", "-phone", "phone"}
	n, sorted, mixed, recovered := 0, 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		l := must.Get(points.OpenLive(t.Context(), store)).In(rt)
		defer func() {
			if err := l.Drop(t.Context(), "test"); err != nil {
				rt.Error(err)
			}
			if err := l.Close(); err != nil {
				rt.Error(err)
			}
		}()
		c := must.Get(l.Create(t.Context(), points.Meta{Name: "test", HistoryRetention: points.Duration(n % 2 * int(time.Hour))})).In(rt)
		n++
		m := &typesModel{points: map[string]map[string]any{}, declared: map[string]feature.Kind{}, last: map[string]feature.Kind{}}
		was := map[string]feature.Kind{}
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			id := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "id")
			switch step := rapid.IntRange(0, 7).Draw(rt, "step"); step {
			case 0, 1, 2, 3:
				given := map[string]any{}
				for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 3, rapid.ID).Draw(rt, "names") {
					given[name] = valueOf(rapid.SampledFrom(typeValues).Draw(rt, name))
				}
				text, _ := json.Marshal(given)
				w := points.Write{Kind: points.Put, ID: id, Properties: text, Lat: float64(step)}
				next := given
				if step == 3 {
					w.Kind = points.Patch
					next = map[string]any{}
					maps.Copy(next, m.points[id])
					for name, v := range given {
						if next[name] = v; v == nil {
							delete(next, name)
						}
					}
				}
				ok := true
				for name, v := range next {
					out, gone, fits := m.typed(name, v)
					if next[name] = out; gone {
						delete(next, name)
					}
					ok = ok && fits
				}
				err := write(t, c, w)[0].Err
				switch there := m.points[id] != nil; {
				case step == 3 && !there:
					if !errors.Is(err, points.ErrNotFound) {
						rt.Fatalf("%v", err)
					}
				case ok != (err == nil):
					rt.Fatalf("%s %s: %v, declared %v", id, text, err, m.declared)
				case ok:
					m.points[id] = next
				}
			case 4:
				write(t, c, points.Write{Kind: points.Delete, ID: id})
				delete(m.points, id)
			case 5, 6:
				name := rapid.SampledFrom(names).Draw(rt, "declared")
				typ := rapid.SampledFrom([]feature.Kind{feature.Null, feature.Number, feature.Text, feature.Any}).Draw(rt, "type")
				others, err := c.Describe(t.Context(), func(d *points.Meta) error {
					d.Title = name
					d.Schema = slices.DeleteFunc(d.Schema, func(f feature.Field) bool { return f.Name == name })
					if typ != feature.Null {
						d.Schema = append(d.Schema, feature.Field{Name: name, Kind: typ})
					}
					return nil
				})
				if err != nil || c.Meta().Title != name {
					rt.Fatal(err)
				}
				if typ == feature.Null && m.declared[name] != feature.Null && !m.hasValues(name) {
					m.last[name] = feature.Any
				}
				if m.declared[name] = typ; typ == feature.Null {
					delete(m.declared, name)
				}
				if m.last[name] == feature.Null {
					m.last[name] = feature.Any
				}
				want := map[string]int64{}
				for _, properties := range m.points {
					for name, v := range properties {
						_, isText := v.(string)
						_, isNumber := v.(float64)
						list, isList := v.([]any)
						t := m.declared[name]
						if v != nil && !(isList && len(list) == 0) && (t == feature.Text && !isText || t == feature.Number && !isNumber) {
							want[name]++
						}
					}
				}
				if !maps.Equal(others, want) {
					rt.Fatalf("others %v, want %v", others, want)
				}
			case 7:
				must.Do(rt, l.Close())
				l = must.Get(points.OpenLive(t.Context(), store)).In(rt)
				c = l.Collection("test")
			}
			m.learn()
			schema := c.Meta().Schema
			for _, f := range schema {
				// For names without values, a reopened collection has the last written type.
				if want := m.typeOf(f.Name); f.Kind != want {
					rt.Fatalf("%s has the type %s, want %s: %v", f.Name, f.Kind, want, m.points)
				}
				if was[f.Name] == feature.Any && f.Kind != feature.Any && m.declared[f.Name] == feature.Null {
					recovered++
				}
				if was[f.Name] = f.Kind; f.Kind == feature.Any {
					mixed++
				}
				if _, err := schema.ParseSort("-p." + f.Name); (err == nil) != slices.Contains([]feature.Kind{feature.Number, feature.Time,
					feature.Boolean}, f.Kind) {
					rt.Fatalf("sort by %v: %v", f, err)
				}
				sorted++
			}
			m.checkFilters(rt, c)
		}
	})
	if mixed == 0 || sorted == 0 || recovered == 0 {
		t.Errorf("%d orders, %d mixed types, %d recovered: nothing is tested", sorted, mixed, recovered)
	}
}

// checkFilters compares counts by filters with those of a scan of all points.
func (m *typesModel) checkFilters(rt *rapid.T, c *points.LiveCollection) {
	truth := func(v any) bool { s, isText := v.(string); return v != nil && v != false && !(isText && s == "") }
	text := func(name, want string) func(map[string]any) bool {
		return func(p map[string]any) bool { return fmt.Sprint(p[name]) == want }
	}
	less := func(p map[string]any) bool { f, ok := p["price"].(float64); return ok && f < 2 }
	schema := c.Meta().Schema
	whole := "price" // the property of p.price.lt
	if _, has := schema.Lookup("price.lt"); has {
		whole = "price.lt"
	}
	for key, f := range map[string]struct {
		name, value string
		passes      func(p map[string]any) bool
	}{
		"price.lt": {"price", "2", less},
		"has":      {"phone", "phone", func(p map[string]any) bool { return p["phone"] != nil }},
		"lacks":    {"phone", "phone", func(p map[string]any) bool { return p["phone"] == nil }},
		"-phone": {"phone", "", func(p map[string]any) bool {
			list, isList := p["phone"].([]any)
			return !truth(p["phone"]) || isList && len(list) == 0
		}},
		"p.has":    {"has", "n/a", text("has", "n/a")},
		"p.-phone": {"-phone", "n/a", text("-phone", "n/a")},
		"p.price.lt": {whole, "2", func(p map[string]any) bool {
			return whole == "price" && less(p) || whole != "price" && text(whole, "2")(p)
		}},
	} {
		term, err := schema.ParseTerm(key, f.value)
		if err != nil {
			rt.Fatal(key, err)
		}
		filter, err := feature.ParseFilter(schema, []feature.Term{term})
		typ := m.typeOf(f.name)
		if err != nil {
			field, known := schema.Lookup(f.name)
			ordered := strings.HasSuffix(key, "price.lt") && f.name == "price" && typ != feature.Number && typ != feature.Any
			unfit := f.value == "n/a" && (typ == feature.Number || typ == feature.Boolean || typ == feature.Time) ||
				whole != "price" && key == "p.price.lt" && (typ == feature.Boolean || typ == feature.Time)
			if known && !ordered && !unfit {
				rt.Fatalf("%s of %v: %v", key, field, err)
			}
			continue
		}
		want := int64(0)
		for _, p := range m.points {
			if f.passes(p) {
				want++
			}
		}
		got, err := c.CountIn(rt.Context(), feature.Box(quadkey.World), filter, time.Time{})
		if err != nil || got != want {
			rt.Fatalf("%s=%s counts %d, want %d: %v: %v, %v", key, f.value, got, want, err, m.points, schema)
		}
	}
}
