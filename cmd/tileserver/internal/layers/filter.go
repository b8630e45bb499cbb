package layers

import (
	"slices"
	"strconv"
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
			return endpoint.Refuse(endpoint.ErrParameter, parameter, "There is no property "+endpoint.Printable(name)+": "+q.properties())
		}
	}
	return nil
}

// readOpen makes filters from all undeclared parameters.
func (q *question) readOpen(p *endpoint.Params) error {
	if !p.Endpoint().TakesFilters {
		return nil
	}
	others := p.ExtraParams()
	if p.Err != nil {
		return p.Err
	}
	if len(others) > feature.MaxTerms {
		return endpoint.Refuse(endpoint.ErrParameter, "", "Filter by at most "+strconv.Itoa(feature.MaxTerms)+" parameters.")
	}
	for i := range q.asked {
		if err := q.filter(&q.asked[i], p.Endpoint().ParamNames(), others); err != nil {
			return err
		}
	}
	return nil
}

// filter makes the filter of a layer. It first tries each parameter separately, so that a refusal
// can name the parameter.
func (q *question) filter(a *asked, query *endpoint.ParamNames, others []endpoint.ExtraParam) error {
	schema := a.LayerInfo.Schema
	var terms []feature.Term
	for _, o := range others {
		term, err := schema.ParseTerm(o.Name, o.Value)
		if err == nil {
			_, err = feature.ParseFilter(schema, []feature.Term{term})
		}
		if err == nil {
			terms = append(terms, term)
			continue
		}
		shown := endpoint.Printable(o.Name)
		if _, known := schema.LookupPath(term.Name); term.Name == "" || known {
			return endpoint.Refuse(endpoint.ErrParameter, shown, "The filter cannot be used: "+feature.DetailOf(err, feature.ErrFilter)+".")
		}
		detail := "Unknown parameter " + shown
		if meant := query.NearestName(o.Name); meant != "" {
			detail += ": did you mean " + meant + "?"
		} else {
			detail += "."
		}
		return endpoint.Refuse(endpoint.ErrParameter, shown, detail+" As a filter it names no property of "+a.name+": "+q.properties())
	}
	var err error
	a.filter, err = feature.ParseFilter(schema, terms)
	return err
}

// namesInRefusal is the number of properties that a refusal lists.
const namesInRefusal = 8

// properties returns a list of the properties of the requested layers, for a refusal.
func (q *question) properties() string {
	var names []string
	for i := range q.asked {
		for _, f := range q.asked[i].LayerInfo.Schema {
			if name := endpoint.Printable(f.Name); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	switch {
	case len(names) == 0:
		return "these points have none."
	case len(names) > namesInRefusal:
		where := ""
		if q.named {
			where = " that " + strings.Replace(q.Path, "{collection}", q.asked[0].name, 1) + " lists"
		}
		return "use one of those" + where + ", such as " + strings.Join(names[:namesInRefusal], ", ") + "."
	}
	return "use one of " + strings.Join(names, ", ") + "."
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
