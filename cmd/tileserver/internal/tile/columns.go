package tile

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/tiles"
)

// fieldsParam chooses the properties of features in tiles.
var fieldsParam = listing.PropertiesParam("fields",
	"Properties that features have beside their id and name, at most "+strconv.Itoa(tiles.MaxColumns)+": those of regions, of "+
		"lines and of collections of points, and `COLLECTION.PROPERTY` of a collection whose ids are those of regions. Texts are cut to "+strconv.Itoa(tiles.MaxColumnBytes)+" bytes, lists and objects "+
		"are left out. If absent, regions have what their publisher chose (ingest boundaries --property), and points their first "+
		strconv.Itoa(tiles.MaxColumns)+".").WithExample([]string{"name", "population"})

// chosenFields returns the properties that a request chooses, in canonical order; nil if it
// chooses none.
func chosenFields(q *endpoint.Params) []string {
	if !fieldsParam.Given(q) {
		return nil
	}
	names := slices.Compact(slices.Sorted(slices.Values(fieldsParam.Of(q))))
	if len(names) > tiles.MaxColumns {
		q.Refuse(fieldsParam.Name, "Shorten fields to at most "+strconv.Itoa(tiles.MaxColumns)+" properties.")
	}
	return names
}

// choose sets the properties that the features of a set have, see chosenFields.
func (set *layerSet) choose(v *view, names []string) error {
	set.fields = names
	set.columns = map[string][]string{}
	unknown := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "id" || name == "name" })
	var known []string
	for _, typ := range set.types {
		b, err := v.Boundaries.ReaderOf(typ)
		if err != nil {
			return err
		}
		types := b.Types()
		t := &types[slices.IndexFunc(types, func(t tiles.TypeMeta) bool { return t.Name == typ })]
		if names == nil {
			set.columns[typ] = t.Columns
			continue
		}
		for _, f := range t.ColumnFields() {
			known = append(known, f.Name)
			if slices.Contains(names, f.Name) {
				set.columns[typ] = append(set.columns[typ], f.Name)
			}
		}
	}
	set.others = slices.DeleteFunc(unknown, func(name string) bool { return slices.Contains(known, name) })
	return nil
}

// hasColumns reports whether regions of a set have columns.
func (set *layerSet) hasColumns(v *view) bool {
	return len(v.joined) > 0 || slices.ContainsFunc(set.types, func(typ string) bool { return len(set.columns[typ]) > 0 })
}

// join finds the collections that have the chosen properties that regions of a set lack. That depends on
// the state of collections, so it is not kept with the set.
func (v *view) join(set *layerSet) error {
	v.joined = nil
	for _, name := range set.others {
		if collection, property, ok := v.joinOf(name); ok && len(set.types) > 0 {
			v.joined = addJoin(v.joined, collection, property)
		} else if len(set.points) == 0 || v.pinned { // points may get a property later
			return v.noField(set, name)
		}
	}
	return nil
}

func addJoin(joined []joinedColumns, collection string, property feature.Field) []joinedColumns {
	i := slices.IndexFunc(joined, func(j joinedColumns) bool { return j.collection == collection })
	if i < 0 {
		i = len(joined)
		joined = append(joined, joinedColumns{collection: collection})
	}
	if !slices.Contains(joined[i].fields, property) {
		joined[i].fields = append(joined[i].fields, property)
	}
	return joined
}

// noField returns the refusal of a property that tiles of a set cannot have.
func (v *view) noField(set *layerSet, name string) error {
	var known []string
	for _, typ := range set.types {
		if b, err := v.Boundaries.ReaderOf(typ); err == nil {
			known = append(known, columnNames(b, typ)...)
		}
	}
	return endpoint.Refuse(endpoint.ErrParameter, fieldsParam.Name, "There is no property "+endpoint.Printable(name)+
		" of which tiles could have the values: "+someNames(known))
}

// columnNames lists the properties of a type that tiles can have.
func columnNames(b *tiles.Reader, typ string) (names []string) {
	for _, t := range b.Types() {
		if t.Name == typ {
			for _, f := range t.ColumnFields() {
				names = append(names, f.Name)
			}
		}
	}
	return names
}

// someNames lists names for a refusal.
func someNames(names []string) string {
	const most = 20
	slices.Sort(names)
	names = slices.Compact(names)
	more := "."
	if len(names) == 0 {
		return "these layers have none beside their own."
	}
	if len(names) > most {
		names, more = names[:most], ", …"
	}
	for i, name := range names {
		names[i] = endpoint.Printable(name)
	}
	return "use some of " + strings.Join(names, ", ") + more
}

// joinedColumns are properties of a collection of points whose ids are those of regions.
type joinedColumns struct {
	collection string
	fields     feature.Schema
}

// joinOf returns the public collection and its property that a name means. Pinned addresses have none.
func (v *view) joinOf(name string) (collection string, property feature.Field, ok bool) {
	collection, rest, ok := strings.Cut(name, ".")
	if !ok || v.pinned {
		return "", property, false
	}
	c, err := v.TiledCollection(collection)
	if err != nil {
		return "", property, false
	}
	property, ok = c.LayerInfo.Schema.Lookup(rest)
	return collection, property, ok && tiles.FieldTypes[property.Kind] != ""
}

// stateOfJoin returns a number for the state of a collection, or 0 if it changes at any time.
func stateOfJoin(c *ask.Layer) uint64 {
	if c.LayerInfo.Live || len(c.GenerationIDs) == 0 {
		return 0
	}
	return c.ID()
}

// joinedFrom appends the states of the collections of which regions get properties.
func (v *view) joinedFrom(joined []joinedColumns, ids []uint64) (_ []uint64, live bool) {
	for _, j := range joined {
		state := uint64(0)
		if c, err := v.TiledCollection(j.collection); err == nil {
			state = stateOfJoin(c)
			live = live || state == 0
		}
		ids = append(ids, state)
	}
	return ids, live
}

// stateOfJoins returns a number for states of joinedFrom, or 0 for none.
func stateOfJoins(ids []uint64) uint64 {
	if len(ids) == 0 {
		return 0
	}
	h := web.HashStart
	for _, id := range ids {
		h = h.Number(id)
	}
	return uint64(h) | 1
}

// joinColumns returns the properties of a collection for the regions of a type.
func (v *view) joinColumns(ctx context.Context, b *tiles.Reader, typ string, j joinedColumns) ([]*tiles.Column, error) {
	c, err := v.TiledCollection(j.collection)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(j.fields))
	for i, f := range j.fields {
		names[i] = f.Name
	}
	return b.JoinColumns(ctx, typ, c.Layer, j.collection+".", names)
}

// withColumns returns the selectors of a set with the values that its features have, and with those that
// pass its filters.
func (set *layerSet) withColumns(ctx context.Context, v *view, b *tiles.Reader) (_ []tiles.Selector, err error) {
	if !set.hasColumns(v) && v.filters.of == nil {
		return set.selectors, nil
	}
	all := slices.Clone(set.selectors)
	for i := range all {
		of := &all[i]
		if i > 0 && all[i-1].Type == of.Type {
			of.Columns, of.Only = all[i-1].Columns, all[i-1].Only
			continue
		}
		if of.Only, err = v.passing(ctx, b, of.Type); err != nil {
			return nil, err
		}
		add := func(c []*tiles.Column, err error) error {
			of.Columns = append(of.Columns, c...)
			return err
		}
		if names := set.columns[of.Type]; len(names) > 0 {
			if err := add(b.Columns(ctx, of.Type, names)); err != nil {
				return nil, err
			}
		}
		for _, j := range v.joined {
			if err := add(v.joinColumns(ctx, b, of.Type, j)); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// colored returns the set with the property by which a view colours its pictures. A property that does not exist is
// refused when its classes are made.
func (set *layerSet) colored(v *view) *layerSet {
	if v.color.layer == "" {
		return set
	}
	own, name := *set, v.color.property
	own.fields, own.columns = []string{name}, map[string][]string{}
	if !slices.Contains(set.types, v.color.layer) {
		return &own
	}
	if b, err := v.Boundaries.ReaderOf(v.color.layer); err == nil && slices.Contains(columnNames(b, v.color.layer), name) {
		own.columns[v.color.layer] = own.fields
	} else if collection, property, ok := v.joinOf(name); ok {
		v.joined = addJoin(v.joined, collection, property)
	}
	return &own
}

// fieldsText returns the parameter for the properties of a set, or "".
func (set *layerSet) fieldsText() string { return fieldsText(set.fields) }

func fieldsText(names []string) string {
	escaped := make([]string, len(names))
	for i, name := range names {
		escaped[i] = escapeField.Replace(name)
	}
	return strings.Join(escaped, ",")
}

// escapeField writes a name so that feature.SplitValues reads it.
var escapeField = strings.NewReplacer(`\`, `\\`, `,`, `\,`)

// only returns the properties of a point that were chosen; nil chooses all.
func only(chosen []string, p feature.Properties) feature.Properties {
	if chosen == nil {
		return p
	}
	var list []feature.Property
	for name, value := range p.All() {
		if name == "name" || slices.Contains(chosen, name) {
			list = append(list, feature.Property{Name: name, Value: value})
		}
	}
	return feature.PropertiesOf(list...)
}
