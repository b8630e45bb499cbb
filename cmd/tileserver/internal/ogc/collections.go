package ogc

import (
	"cmp"
	"context"
	"slices"
	"time"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/ogcapi"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
)

// collection is the layer of a request.
type collection struct {
	*ask.Layer
	view        ask.View // the view that it is from
	first, last string   // the properties that say when a feature exists; "" if none do
}

// open returns a collection. If there is no such collection, the error lists the existing ones.
func open(v ask.View, name string) (*collection, error) {
	l, err := v.PublicLayer(name)
	if err == nil {
		return newCollection(v, l), nil
	}
	if ask.IsNoLayer(err) {
		err = noCollection(v)
	}
	return nil, err
}

// read sets f to the feature with an id. If the feature's id has another spelling, it redirects the
// client.
func (c *collection) read(ctx context.Context, id string, f *feature.Feature) error {
	if err := c.Get(ctx, id, time.Time{}, f); err != nil {
		return err
	}
	return web.IsAt(id, f.ID)
}

func newCollection(v ask.View, l *ask.Layer) *collection {
	c := &collection{Layer: l, view: v}
	var times []string
	for _, f := range l.LayerInfo.Schema {
		if f.Kind == feature.Time {
			times = append(times, f.Name)
		}
	}
	switch {
	case len(times) == 1:
		c.first, c.last = times[0], times[0]
	case slices.Equal(times, []string{"begin", "end"}):
		c.first, c.last = times[0], times[1]
	}
	return c
}

// canBeAsked returns a list of the kinds of questions that a layer can answer.
func canBeAsked(can *feature.Abilities) []string {
	words := []string{}
	for _, of := range []struct {
		word string
		can  bool
	}{{"near", can.Near}, {"area", can.Area}, {"near_area", can.NearInArea}, {"importance", can.Importance}, {"sort", can.Sort}} {
		if of.can {
			words = append(words, of.word)
		}
	}
	return words
}

// field is a property of features, with its JSON Schema type.
type field struct{ Name, Type string }

// fields returns the properties, the most common first.
func (c *collection) fields() (all []field) {
	for _, f := range c.LayerInfo.Schema {
		all = append(all, field{f.Name, schemaTypes[f.Kind]})
	}
	slices.SortStableFunc(all, func(a, b field) int { return cmp.Compare(rank(b.Name), rank(a.Name)) })
	return all
}

func rank(name string) int { return slices.Index([]string{"name", "id"}, name) }

// schemaTypes maps kinds of properties to JSON Schema types. A kind that is absent here may have
// any type.
var schemaTypes = map[feature.Kind]string{
	feature.Text:     "string",
	feature.Number:   "number",
	feature.Integer:  "integer",
	feature.Boolean:  "boolean",
	feature.Time:     "string",
	feature.Texts:    "array",
	feature.RegionID: "string",
}

// links returns the links of the description of a collection.
func (s *Handlers) links(base string, c *collection) []ogcapi.Link {
	here := ogcapi.CollectionURL(base, c.LayerInfo.Name)
	all := []ogcapi.Link{
		{Href: here + "?f=json", Rel: "self", Type: ogcapi.TypeJSON, Title: "This document"},
		{Href: here + "?f=html", Rel: "alternate", Type: ogcapi.TypeHTML, Title: "This document as a page"},
		{Href: here + "/items?f=json", Rel: "items", Type: ogcapi.TypeGeoJSON, Title: "The features"},
		{Href: here + "/items?f=html", Rel: "items", Type: ogcapi.TypeHTML, Title: "The features as a table"},
		{Href: here + "/queryables?f=json", Rel: ogcapi.RelQueryables, Type: ogcapi.TypeSchema, Title: "The properties that filters may name"},
		{Href: here + "/count?f=json", Rel: "related", Type: ogcapi.TypeJSON, Title: "How many features there are, and of each group"},
	}
	for _, f := range s.formats {
		if listOf(f) != nil {
			all = append(all, ogcapi.Link{Href: here + "/items?f=" + f.Name, Rel: "items", Type: f.Type, Title: "The features as " + f.Name})
		}
	}
	for _, p := range s.parts {
		if p.CollectionLinks != nil {
			all = append(all, p.CollectionLinks(c.view, base, c.LayerInfo.Name)...)
		}
	}
	return all
}
