package web

import "github.com/labstack/echo/v4"

// LinkNext sets the header Link to the address of the next page of a list: that of the request
// with another cursor. It is for forms that have no place for it.
func (s *Kit) LinkNext(c echo.Context, cursor string) {
	r := c.Request()
	base, err := s.BaseURL(r)
	if err != nil {
		base = s.RootPath(r) // a relative address needs no host
	}
	values := r.URL.Query()
	values.Set("cursor", cursor)
	c.Response().Header()["Link"] = NextLink(base + r.URL.EscapedPath() + "?" + values.Encode())
}

// NextLink is the value of Link for the address of the next page, ready to be put into a header
// map.
func NextLink(address string) []string { return []string{"<" + address + `>; rel="next"`} }
