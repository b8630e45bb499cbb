package layers

import (
	"slices"
	"strings"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/feature"
)

// checkFields returns an error if no layer has a requested field.
func (q *question) checkFields(p *endpoint.Params) error {
	for _, name := range q.writer.Fields {
		known := func(a asked) bool { _, ok := a.LayerInfo.Schema.Lookup(name); return ok }
		if !slices.ContainsFunc(q.asked, known) {
			parameter := listing.Properties.Name
			if !listing.Properties.Given(p) {
				parameter = fieldsParam.Name
			}
			return q.noProperty(parameter, name)
		}
	}
	return nil
}

// noProperty returns the refusal of a parameter that names a property which no layer has.
func (q *question) noProperty(parameter, name string) error {
	return endpoint.Refuse(endpoint.ErrParameter, parameter,
		"There is no property "+endpoint.Printable(name)+": "+listing.PropertyNames(q.schemas()))
}

// readOpen makes filters from all undeclared parameters.
func (q *question) readOpen(p *endpoint.Params) error {
	layers, listed := q.schemas()
	filters, err := listing.Filters(p, layers, listed)
	for i := range filters {
		q.asked[i].filter = filters[i]
	}
	return err
}

// schemas returns the requested layers for filters, and the path that lists their properties.
func (q *question) schemas() (layers []listing.Filtered, listed string) {
	for i := range q.asked {
		layers = append(layers, listing.Filtered{Name: q.asked[i].name, Layer: q.asked[i].LayerInfo.Name, Schema: q.asked[i].LayerInfo.Schema})
	}
	if q.named {
		listed = strings.Replace(q.Path, "{collection}", q.asked[0].name, 1)
	}
	return layers, listed
}

// sort reads the order of a page.
func (q *question) sort(text string) (by feature.Sort, err error) {
	if text == "" {
		return by, nil
	}
	if by, err = q.layer().LayerInfo.Schema.ParseSort(text); err != nil {
		err = endpoint.Refuse(endpoint.ErrParameter, "sort", "The order cannot be used: "+feature.DetailOf(err, feature.ErrFilter)+".")
	}
	return by, err
}
