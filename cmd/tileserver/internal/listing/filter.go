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
		var own []endpoint.ExtraParam
		for _, o := range others {
			if layer, name := OwnFilter(o.Name, layers); layer == "" || layer == layers[i].Layer {
				own = append(own, endpoint.ExtraParam{Name: name, Value: o.Value})
			}
		}
		var err error
		if filters[i], err = filterOf(p.Endpoint().ParamNames(), own, &layers[i], func() string { return PropertyNames(layers, listed) }); err != nil {
			return nil, err
		}
	}
	return filters, nil
}

// filterOf makes the filter of a layer. It first tries each parameter separately, so that a refusal
// can name the parameter.
func filterOf(query *endpoint.ParamNames, others []endpoint.ExtraParam, of *Filtered, known func() string) (feature.Filter, error) {
	var terms []feature.Term
	for _, o := range others {
		term, err := of.Schema.ParseTerm(o.Name, o.Value)
		if err == nil {
			_, err = feature.ParseFilter(of.Schema, []feature.Term{term})
		}
		if err == nil {
			terms = append(terms, term)
			continue
		}
		shown := endpoint.Printable(o.Name)
		if _, known := of.Schema.LookupPath(term.Name); term.Name == "" || known {
			return nil, endpoint.Refuse(endpoint.ErrParameter, shown, "The filter cannot be used: "+feature.DetailOf(err, feature.ErrFilter)+".")
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
		return nil, endpoint.Refuse(endpoint.ErrParameter, shown, detail+" As a filter it names no property of "+of.Name+": "+known())
	}
	return feature.ParseFilter(of.Schema, terms)
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
