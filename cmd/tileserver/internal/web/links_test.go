package web

import (
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"
)

func TestCarryKey(t *testing.T) {
	c := echo.New().NewContext(httptest.NewRequest("GET", "/", nil), httptest.NewRecorder())
	c.Set(queryKey, `a&"b`)
	const base, k = "http://h", "key=a%26%22b"
	for _, tt := range []struct {
		form     Format
		is, want string
	}{
		{FormatJSON, `["http://h"]`, `["http://h?` + k + `"]`},
		{FormatJSON, `["http://h/x"]`, `["http://h/x?` + k + `"]`},
		{FormatJSON, `{"url":"http://h/x?a=1\u0026b=2","o":1}`, `{"url":"http://h/x?a=1\u0026b=2&` + k + `","o":1}`},
		{FormatJSON, `["http://h/#1","http://h?a#1"]`, `["http://h/?` + k + `#1","http://h?a&` + k + `#1"]`},
		{
			FormatJSON,
			`["http://hh/x","https://h/x","http://h.evil/","x http://h/","http://h/`,
			`["http://hh/x","https://h/x","http://h.evil/","x http://h/","http://h/`,
		},
		{FormatJSON, `["http://h/x\"y"]`, `["http://h/x\"y"]`},
		{FormatGeoJSON, `{"url":"http://h/x","href":"http://h/y"}`, `{"url":"http://h/x","href":"http://h/y?` + k + `"}`},
		{FormatText, `<a href="http://h/x?f=html">http://h/x</a>`, `<a href="http://h/x?f=html&` + k + `">http://h/x</a>`},
	} {
		if got := string(carryKey(c, tt.form, base, []byte(tt.is))); got != tt.want {
			t.Errorf("%s\nbecame %s\nwant   %s", tt.is, got, tt.want)
		}
	}
}
