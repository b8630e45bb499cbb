package listing

import (
	"slices"
	"strconv"
	"strings"

	"quadrille/cmd/internal/nearest"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/feature"
)

// Filtered is a layer that the undeclared parameters of a request filter. Name is what refusals call it.
type Filtered struct {
	Name, Layer string
	Schema      feature.Schema
}

// OwnFilter splits a parameter such as points:shops.price.lt, which filters one layer of a request alone, into
// the layer and the filter. Of any other name layer is "".
func OwnFilter(name string, layers []Filtered) (layer, filter string) {
	for i := range layers {
		if filter, ok := strings.CutPrefix(name, layers[i].Layer+"."); ok {
			return layers[i].Layer, filter
		}
	}
	return "", name
}

// Filters makes the filter of each layer from the undeclared parameters of a request: nil without
// any. Every layer must know the properties of those that are not for one layer. listed is the path that lists them, "" for none.
func Filters(p *endpoint.Params, layers []Filtered, listed string) ([]feature.Filter, error) {
	filters := make([]feature.Filter, len(layers))
	if !p.Endpoint().TakesFilters {
		return filters, nil
	}
	others := p.ExtraParams()
	if p.Err != nil {
		return nil, p.Err
	}
	if len(others) > feature.MaxTerms {
		return nil, endpoint.Refuse(endpoint.ErrParameter, "", "Filter by at most "+strconv.Itoa(feature.MaxTerms)+" parameters.")
	}
	for i := range layers {
		var terms []feature.Term // each is tried by itself, so that a refusal can name its parameter
		for _, o := range others {
			layer, name := OwnFilter(o.Name, layers)
			if layer != "" && layer != layers[i].Layer {
				continue
			}
			term, err := termOf(p.Endpoint().ParamNames(), o, name, &layers[i], func() string { return PropertyNames(layers, listed) })
			if err != nil {
				return nil, err
			}
			terms = append(terms, term)
		}
		var err error
		if filters[i], err = feature.ParseFilter(layers[i].Schema, terms); err != nil {
			return nil, err
		}
	}
	return filters, nil
}

// termOf makes the term of one parameter: name is that of the parameter as a filter of the layer.
func termOf(query *endpoint.ParamNames, o endpoint.ExtraParam, name string, of *Filtered, known func() string) (feature.Term, error) {
	term, err := of.Schema.ParseTerm(name, o.Value)
	if err == nil {
		_, err = feature.ParseFilter(of.Schema, []feature.Term{term})
	}
	if err == nil {
		return term, nil
	}
	shown := endpoint.Printable(o.Name)
	if _, known := of.Schema.LookupPath(term.Name); term.Name == "" || known {
		return term, endpoint.Refuse(endpoint.ErrParameter, shown, "The filter cannot be used: "+feature.DetailOf(err, feature.ErrFilter)+".")
	}
	detail := "Unknown parameter " + shown
	var names []string
	for _, f := range of.Schema {
		names = append(names, f.Name)
	}
	if meant := query.NearestName(o.Name); meant != "" {
		detail += ": did you mean " + meant + "?"
	} else if meant, near := nearest.Name(term.Name, names); near {
		detail += ": did you mean the property " + endpoint.Printable(meant) + "?"
	} else {
		detail += "."
	}
	return term, endpoint.Refuse(endpoint.ErrParameter, shown, detail+" As a filter it names no property of "+of.Name+": "+known())
}

// namesInRefusal is the number of properties that a refusal lists.
const namesInRefusal = 8

// PropertyNames returns a list of the properties of layers, for a refusal. listed is the path that
// lists them, "" for none.
func PropertyNames(layers []Filtered, listed string) string {
	var names []string
	for _, f := range layers[0].Schema {
		inAll := !slices.ContainsFunc(layers[1:], func(l Filtered) bool { _, ok := l.Schema.Lookup(f.Name); return !ok })
		if name := endpoint.Printable(f.Name); inAll && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch {
	case len(names) == 0 && len(layers) > 1:
		return "these layers have none in common; ask for one of them."
	case len(names) == 0:
		return "there are none."
	case len(names) > namesInRefusal:
		if listed != "" {
			listed = " that " + listed + " lists"
		}
		return "use one of those" + listed + ", such as " + strings.Join(names[:namesInRefusal], ", ") + "."
	}
	return "use one of " + strings.Join(names, ", ") + "."
}
