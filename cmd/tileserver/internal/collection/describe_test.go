package collection

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"quadrille/feature"
	"quadrille/internal/must"
)

// The properties of one point do not change the meaning of filters for other points, even after its
// removal.
func TestFiltersAreNotShadowed(t *testing.T) {
	s := newService(t, nil)
	s.make("shops", "")
	s.want(s.send(rootKey, "PUT", "/points/shops/1", pointFeature("1", 1, 1, `{"price":1,"phone":"x"}`)), 201, "")
	s.want(s.send(rootKey, "PUT", "/points/shops/2", pointFeature("2", 1, 1, `{"price":30}`)), 201, "")
	counts := func(when string, more map[string]string) {
		t.Helper()
		for filter, want := range map[string]string{
			"price.lt=20":   "1",
			"has=phone":     "1",
			"lacks=phone":   "1",
			"-phone=":       "1",
			"p.price.gt=20": "1",
		} {
			if w := s.send("", "GET", "/points/shops/count?"+filter, ""); w.Code != 200 || w.Body.String() != `{"count":`+want+`}` {
				t.Errorf("%s: %s: %d %s, want %s", when, filter, w.Code, w.Body, want)
			}
		}
		for filter, want := range more {
			if w := s.send("", "GET", "/points/shops/count?"+filter, ""); w.Code != 200 || w.Body.String() != `{"count":`+want+`}` {
				t.Errorf("%s: %s: %d %s, want %s", when, filter, w.Code, w.Body, want)
			}
		}
	}
	counts("before", nil)
	for _, path := range []string{"p.has=x", "p.-phone=x"} {
		s.want(s.send("", "GET", "/points/shops/count?"+path, ""), 400, "bad-parameter")
	}
	s.want(s.send(rootKey, "PUT", "/points/shops/3",
		pointFeature("3", 1, 1, `{"price.lt":"x","has":"y","-phone":"z","lacks":1,"phone":true,"a,b;c+d":5}`)), 201, "")
	s.want(s.send(rootKey, "PATCH", "/points/shops/3", `{"properties":{"phone":null}}`), 200, "")
	for filter, want := range map[string]string{
		"p.price.lt=x":         "1",
		"p.has=y":              "1",
		"p.-phone=z":           "1",
		"price.lt.ne=y":        "1",
		"has=price.lt,-phone":  "1",
		`has=a%5C%2Cb%3Bc%2Bd`: "1",
		"a%2Cb%3Bc%2Bd.gte=5":  "1",
		"lacks=price":          "1",
		"-phone=":              "2",
	} {
		if w := s.send("", "GET", "/points/shops/count?"+filter, ""); w.Code != 200 || w.Body.String() != `{"count":`+want+`}` {
			t.Errorf("%s: %d %s, want %s", filter, w.Code, w.Body, want)
		}
	}
	if w := s.send("", "GET", `/points/shops/3?fields=a%5C%2Cb%3Bc%2Bd,has`, ""); !strings.Contains(w.Body.String(),
		`"properties":{"has":"y","a,b;c+d":5}`) {
		t.Errorf("fields: %d %s", w.Code, w.Body)
	}
	for order, status := range map[string]int{"a,b%3Bc%2Bd": 200, "p.a,b%3Bc%2Bd": 200, "-price": 200, "p.-phone": 400} {
		if w := s.send("", "GET", "/points/shops/within?bbox=0,0,2,2&sort="+order, ""); w.Code != status {
			t.Errorf("sort=%s: %d %s", order, w.Code, w.Body)
		}
	}
	s.want(s.send(rootKey, "DELETE", "/points/shops/3", ""), 204, "")
	counts("it is gone", map[string]string{"p.price.lt=x": "0"})
}

// TestTypesRecover tests that a property has its type again once the one point that had a value of
// another type is removed. Declaring the type helps immediately.
func TestTypesRecover(t *testing.T) {
	s := newService(t, nil)
	l := s.make("shops", `{"title":"Shops","schema":{"open":"boolean"}}`)
	for _, id := range []string{"1", "2", "3"} {
		s.want(s.send(rootKey, "PUT", "/points/shops/"+id, pointFeature(id, 1, 1, `{"price":`+id+`}`)), 201, "")
	}
	sorts := func(status int) string {
		t.Helper()
		w := s.send("", "GET", "/points/shops/within?bbox=0,0,2,2&sort=-price", "")
		if w.Code != status {
			t.Errorf("sort answers %d, want %d: %s", w.Code, status, w.Body)
		}
		return w.Body.String()
	}
	s.want(s.send(rootKey, "PUT", "/points/shops/bad", pointFeature("bad", 1, 1, `{"price":"n/a"}`)), 201, "")
	if detail := sorts(400); !strings.Contains(detail, "declare the type") {
		t.Error(detail)
	}
	s.want(s.send(rootKey, "DELETE", "/points/shops/bad", ""), 204, "")
	sorts(200)
	s.want(s.send(rootKey, "PUT", "/points/shops/bad", pointFeature("bad", 1, 1, `{"price":"n/a"}`)), 201, "")
	w := s.send(rootKey, "PATCH", "/points/shops", `{"title":null,"history":"1h","schema":{"price":"number","open":null}}`)
	if w.Code != 200 || w.Body.String() != `{"name":"shops","other_types":{"price":1}}` {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if m := l.Meta(); m.Title != "" || time.Duration(m.HistoryRetention) != time.Hour || len(l.DeclaredTypes()) != 1 || m.Points != 0 {
		t.Errorf("%+v", m)
	}
	if got := sorts(200); strings.Index(got, `"bad"`) < strings.Index(got, `"1"`) {
		t.Errorf("%s: a value of another type does not come last", got)
	}
	s.want(s.send(rootKey, "PUT", "/points/shops/worse", pointFeature("worse", 1, 1, `{"price":"n/a"}`)), 400, "bad-properties")
	s.want(s.send(rootKey, "PUT", "/points/shops/bad", pointFeature("bad", 1, 1, `{"price":"7"}`)), 200, "")
	w = s.send(rootKey, "PATCH", "/points/shops", `{}`)
	if w.Body.String() != `{"name":"shops"}` {
		t.Error(w.Body)
	}
	for body, typ := range map[string]string{
		"":                               "bad-description",
		"[]":                             "bad-description",
		`{"name":"x"}`:                   "bad-description",
		`{"history":"long"}`:             "bad-description",
		`{"schema":5}`:                   "bad-description",
		`{"title":"a","title":"b"}`:      "bad-description",
		`{"events":"0.1s"}`:              "bad-description",
		`{"schema":{"price":"integer"}}`: "bad-properties",
	} {
		s.want(s.send(rootKey, "PATCH", "/points/shops", body), 400, typ)
	}
	s.want(s.send(plainKey, "PATCH", "/points/shops", `{}`), 403, "scope-missing")
	s.want(s.send(rootKey, "PATCH", "/points/none", `{}`), 404, "collection-not-found")
	if time.Duration(l.Meta().HistoryRetention) != time.Hour || len(l.DeclaredTypes()) != 1 {
		t.Errorf("a refused change has changed %+v", l.Meta())
	}
}

// A description is merged whatever the names of its properties are, and as large as it may be.
func TestDescriptionsMerge(t *testing.T) {
	s := newService(t, nil)
	l := s.make("shops", `{"title":"<Shops> & \u2028 ü","schema":{"<a>&\"\\\u2028ü":"text","\ud800":"number"}}`)
	s.want(s.send(rootKey, "PATCH", "/points/shops", ` { "schema" : {"\u003ca>\u0026\"\\\u2028\u00fc":"number","\udfff":null}}`), 200, "")
	want := feature.Schema{{Name: "<a>&\"\\\u2028ü", Kind: feature.Number}}
	if m := l.Meta(); m.Title != "<Shops> & \u2028 ü" || !slices.Equal(l.DeclaredTypes(), want) {
		t.Errorf("%q with %v", m.Title, l.DeclaredTypes())
	}
	fields := map[string]any{"<a>&\"\\\u2028ü": nil}
	for i := range feature.MaxFields - 2 { // the two that are gone count as well
		fields[fmt.Sprintf("%0*d", feature.MaxPropertyNameBytes, i)] = "text"
	}
	text := must.Get(json.Marshal(map[string]any{"schema": fields})).In(t)
	s.want(s.send(rootKey, "PATCH", "/points/shops", string(text)), 200, "")
	s.want(s.send(rootKey, "PATCH", "/points/shops", `{"title":null}`), 200, "")
	if m := l.Meta(); m.Title != "" || len(l.DeclaredTypes()) != feature.MaxFields-2 {
		t.Errorf("%q with %d fields", m.Title, len(l.DeclaredTypes()))
	}
	s.want(s.send(rootKey, "PATCH", "/points/shops", `{"schema":{"more":"text"}}`), 400, "bad-properties")
	deep := `{"title":` + strings.Repeat(`{"a":`, 40) + `1` + strings.Repeat("}", 41)
	for _, body := range []string{`{"title":tru}`, "{\"title\":\"\xff\"}", deep} {
		s.want(s.send(rootKey, "PATCH", "/points/shops", body), 400, "bad-description")
	}
}

// TestInstantsOfOneKind tests that all parameters and members for a time accept the same forms: a
// blank or t instead of T and z instead of Z (RFC 3339, section 5.6), or a date alone.
func TestInstantsOfOneKind(t *testing.T) {
	s := newService(t, nil)
	l := s.make("vans", `{"history":"9000h","schema":{"since":"time"}}`)
	s.want(s.send(rootKey, "PUT", "/points/vans/1", pointFeature("1", 1, 1, `{"since":"2026-01-02 03:04:05+00:00"}`)), 201, "")
	for _, text := range []string{"2026-01-02%2003:04:05z", "2026-01-02t03:04:05Z", "2026-01-02T04:04:05%2B01:00"} {
		if w := s.send("", "GET", "/points/vans/count?since="+text, ""); w.Body.String() != `{"count":1}` {
			t.Errorf("since=%s: %d %s", text, w.Code, w.Body)
		}
	}
	now := l.Now().UTC()
	for _, layout := range []string{"2006-01-02 15:04:05Z", "2006-01-02t15:04:05z", "2006-01-02T15:04:05Z", "2006-01-02"} {
		text := strings.ReplaceAll(now.Format(layout), " ", "%20")
		s.want(s.send("", "GET", "/points/vans/count?at="+text, ""), 200, "")
		s.want(s.send("", "GET", "/points/vans/1/track?from="+text, ""), 200, "")
		text = now.Add(48 * time.Hour).Format(layout)
		s.want(s.send(rootKey, "PATCH", "/points/vans/1", `{"expires":"`+text+`"}`), 200, "")
	}
	for _, text := range []string{"2026-01-02_03:04:05Z", "2026-01-02%2003:04:05", "2026-1-2", "03:04:05Z"} {
		s.want(s.send("", "GET", "/points/vans/count?at="+text, ""), 400, "bad-parameter")
	}
}
