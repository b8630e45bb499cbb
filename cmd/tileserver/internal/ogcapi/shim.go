// Package ogcapi is a stand-in.
package ogcapi

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"quadrille/cmd/tileserver/internal/web"
)

var ErrNoCollection = errors.New("no such collection")

type Link struct {
	Href      string `json:"href"`
	Rel       string `json:"rel"`
	Type      string `json:"type,omitempty"`
	Title     string `json:"title,omitempty"`
	Templated bool   `json:"templated,omitempty"`
}

type Format struct {
	Name, Type string
	Form       web.Form
}

func Choose(r *http.Request, forms []Format) (Format, bool, error) {
	q := web.QueryParams(r)
	var names []string
	for _, f := range forms {
		names = append(names, f.Name)
	}
	if name := q.OneOf("f", names...); name != "" || q.Err != nil {
		return forms[max(slices.Index(names, name), 0)], false, q.Err
	}
	var types []string
	for _, f := range forms {
		types = append(types, strings.Split(f.Type, ";")[0])
	}
	best := web.Preferred(r, types...)
	for _, x := range forms {
		if strings.HasPrefix(x.Type, best) {
			return x, true, nil
		}
	}
	return forms[0], true, nil
}

// Collection is the address of a collection.
func Collection(base, id string) string { return base + "/ogc/collections/" + id }
