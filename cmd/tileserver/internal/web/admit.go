package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/quota"
)

// admitted passes requests to h if they have a key, where one is required, and are within their
// limits.
func (s *Kit) admitted(r *endpoint.Endpoint, h echo.HandlerFunc) echo.HandlerFunc {
	if r.Keys == endpoint.KeysIgnored || r.Keys == endpoint.KeysByHandler {
		return h
	}
	return func(c echo.Context) error {
		err := s.admit(r, c)
		if err == nil {
			return h(c)
		}
		if s.metrics != nil {
			s.metrics.refused(err)
		}
		return turnAway(r, c, err)
	}
}

// admit counts a request, and returns an error if it may not pass. In a batch each line counts as a
// request.
func (s *Kit) admit(e *endpoint.Endpoint, c echo.Context) error {
	r, g := c.Request(), s.Guard
	sent, inQuery := sentKey(e.Keys, r)
	var keys *quota.Keys
	if e.Keys != endpoint.KeysOfOthers {
		keys = g.inUse()
	}
	if keys != nil && sent != "" {
		if k := keys.Find(sent); k != nil {
			s.nameClient(c, k.Name)
			if inQuery {
				c.Set(queryKey, sent)
			}
			// Storing the key of a light request would take memory.
			light := (e.Cost == endpoint.Light || e.Cost == endpoint.Mixed) && r.Method == http.MethodGet
			if len(k.Scopes) > 0 || e.ChecksScope || !light {
				c.Set(clientKey, keyed{k.Name, sent})
			}
			if e.Cost == endpoint.Streamed {
				c.Set(chargeName, func(n int64) { g.Meter.ChargeKey(k.Name, n) })
			}
			return verdict(c, g.Meter.CountKey(k.Name, g.Limits(k)))
		}
	}
	// Wrong keys also count against the limit of the address. The counts then also show the busiest
	// senders of such keys.
	client := quota.ClientAddrOf(s.ClientAddr(r))
	if err := verdict(c, g.Meter.CountAddress(client, &g.AddressLimits)); err != nil {
		return err
	}
	if e.Cost == endpoint.Streamed {
		c.Set(chargeName, func(n int64) { g.Meter.ChargeAddress(client, n) })
	}
	switch {
	case keys == nil:
		return nil
	case sent == "" && !g.Anonymous:
		return refuseUnkeyed(c, ErrKeyMissing)
	case sent != "" && !(g.Anonymous && e.Keys == endpoint.KeysByUsername): // GeoNames' clients always send some name
		return refuseUnkeyed(c, ErrKeyUnknown)
	}
	return nil
}

// KeyOf returns the key in a request to a public route.
func (s *Kit) KeyOf(c echo.Context) (*quota.Key, error) {
	sent, _ := sentKey(endpoint.KeysRequired, c.Request())
	if sent == "" {
		return nil, refuseUnkeyed(c, ErrKeyMissing)
	}
	k := s.Guard.Keys().Find(sent)
	if k == nil {
		return nil, refuseUnkeyed(c, ErrKeyUnknown)
	}
	s.nameClient(c, k.Name)
	return k, nil
}

// clientKey is the key under which the context of a request holds a value of type keyed.
const clientKey = "key"

// keyed is the key of a request.
type keyed struct{ name, sent string }

// hasScope reports whether the key of a request currently has the scope. Keys may be revoked while
// a long request runs.
func (s *Kit) hasScope(c echo.Context, scope quota.Scope) bool {
	by, ok := c.Get(clientKey).(keyed)
	if !ok {
		return false
	}
	keys := s.Guard.inUse()
	if keys == nil {
		return false
	}
	k := keys.Find(by.sent)
	return k != nil && k.Has(scope)
}

// MayReadCollection reports whether a request was made with a key that may read a collection.
func (s *Kit) MayReadCollection(c echo.Context, name string) bool {
	return s.hasScope(c, quota.Scope{Collection: name})
}

// CheckScope refuses a request to change something unless its key has the scope. A server without
// keys refuses all such requests.
func (s *Kit) CheckScope(c echo.Context, scope quota.Scope) error {
	making := "tileserver keys new NAME --keys FILE --scope " + scope.String()
	switch {
	case s.hasScope(c, scope):
		return nil
	case s.Guard == nil || s.Guard.Keys == nil:
		return endpoint.Refuse(errScopeMissing, "",
			"This server has no keys, so nobody may do this. The operator makes a key by "+making+" and starts the server with --keys FILE.")
	case c.Get(clientKey) == nil:
		return refuseUnkeyed(c, ErrKeyMissing)
	}
	return endpoint.Refuse(errScopeMissing, "", "Send a key that has the scope "+scope.String()+"; the operator makes one by "+making+".")
}

// chargeName is the context key of the function that counts the lines of a request.
const chargeName = "charge"

// charge counts the lines of a batch as requests; the first line has already been counted. It is
// called afterwards, when their number is known: a batch that has begun is finished, and the next
// batch must wait.
func (s *Kit) charge(c echo.Context, lines int64) {
	if s.Guard == nil || lines < 2 {
		return
	}
	if count, ok := c.Get(chargeName).(func(int64)); ok {
		count(lines - 1)
	}
}
