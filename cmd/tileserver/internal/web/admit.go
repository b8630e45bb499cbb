package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/quota"
)

// admission says how requests to a route are admitted.
type admission struct {
	s     *Kit
	guard *Guard
	rule  endpoint.KeyRule
	// lines are charged one by one where a request may ask many questions.
	lines bool
	// scoped is Endpoint.Scoped.
	scoped bool
	// light requests with a key that has no scopes are not remembered with their key,
	// which would cost memory.
	light bool
}

// admitted passes requests on to h if they have a key, where one is needed, and
// are within their limits.
func (s *Kit) admitted(r *endpoint.Endpoint, h echo.HandlerFunc) echo.HandlerFunc {
	if r.Keys == endpoint.KeysUnasked || r.Keys == endpoint.KeysInside {
		return h
	}
	a := &admission{s: s, guard: s.Guarding, rule: r.Keys, lines: r.Cost == endpoint.Streamed, scoped: r.Scoped, light: r.Cost == endpoint.Light || r.Cost == endpoint.Mixed}
	return func(c echo.Context) error {
		err := a.judge(c)
		if err == nil {
			return h(c)
		}
		if s.metrics != nil {
			s.metrics.refused(err)
		}
		return turnAway(r, c, err)
	}
}

// judge counts a request and returns why it may not pass.
func (a *admission) judge(c echo.Context) error {
	r := c.Request()
	sent, inQuery := sentKey(a.rule, r)
	g := a.guard
	var keys *quota.Keys
	if g.Keys != nil && a.rule != endpoint.KeysOfOthers {
		keys = g.Keys()
	}
	if keys != nil && sent != "" {
		if k := keys.Find(sent); k != nil {
			a.s.nameClient(c, k.Name)
			if inQuery {
				c.Set(queryKey, sent)
			}
			if len(k.Scopes) > 0 || a.scoped || !a.light || r.Method != http.MethodGet {
				c.Set(clientKey, keyed{k.Name, func() *quota.Key {
					if keys := g.Keys(); keys != nil {
						return keys.Find(sent)
					}
					return nil
				}})
			}
			if a.lines {
				c.Set(chargeName, func(n int64) { g.Meter.ChargeKey(k.Name, n) })
			}
			return verdict(c, g.Meter.Key(k.Name, g.Limits(k)))
		}
	}
	// Wrong keys use up the limit of the address too, which also shows the busiest
	// senders of such keys.
	client := quota.ClientOf(a.s.ClientAddr(r))
	if err := verdict(c, g.Meter.Address(client, &g.AddressLimits)); err != nil {
		return err
	}
	if a.lines {
		c.Set(chargeName, func(n int64) { g.Meter.ChargeAddress(client, n) })
	}
	switch {
	case keys == nil:
		return nil
	case sent == "" && !g.Anonymous:
		return refuseUnkeyed(c, ErrKeyMissing)
	case sent != "" && !(g.Anonymous && a.rule == endpoint.KeysByUsername): // GeoNames' clients always send some name
		return refuseUnkeyed(c, ErrKeyUnknown)
	}
	return nil
}

// KeyOf is the key that a request brings to a route that is open to all.
func (s *Kit) KeyOf(c echo.Context) (*quota.Key, error) {
	sent, _ := sentKey(endpoint.KeysAsked, c.Request())
	if sent == "" {
		return nil, refuseUnkeyed(c, ErrKeyMissing)
	}
	k := s.Guarding.Keys().Find(sent)
	if k == nil {
		return nil, refuseUnkeyed(c, ErrKeyUnknown)
	}
	s.nameClient(c, k.Name)
	return k, nil
}

// clientKey is the context key of the request's keyed.
const clientKey = "key"

// keyed is the key that a request was made with.
type keyed struct {
	name string
	find func() *quota.Key // nil once it has been revoked
}

// hasScope reports whether a request was made with a key that has the scope now. Keys may
// be revoked while a long request runs.
func (s *Kit) hasScope(c echo.Context, scope quota.Scope) bool {
	sent, ok := c.Get(clientKey).(keyed)
	if !ok {
		return false
	}
	k := sent.find()
	return k != nil && k.Has(scope)
}

// ReadsCollection reports whether a request was made with a key that may read a collection.
func (s *Kit) ReadsCollection(c echo.Context, name string) bool {
	return s.hasScope(c, quota.Scope{Collection: name})
}

// CheckScope refuses a request to change something unless its key has the scope. A
// server that asks for no keys refuses all.
func (s *Kit) CheckScope(c echo.Context, scope quota.Scope) error {
	making := "tileserver keys new NAME --keys FILE --scope " + scope.String()
	switch {
	case s.hasScope(c, scope):
		return nil
	case s.Guarding == nil || s.Guarding.Keys == nil:
		return endpoint.Refuse(errScopeMissing, "", "This server has no keys, so nobody may do this. The operator makes a key by "+making+" and starts the server with --keys FILE.")
	case c.Get(clientKey) == nil:
		return refuseUnkeyed(c, ErrKeyMissing)
	}
	return endpoint.Refuse(errScopeMissing, "", "Send a key that has the scope "+scope.String()+"; the operator makes one by "+making+".")
}

// chargeName is the context key of the function that counts the lines of a request.
const chargeName = "charge"

// charge counts the lines of a batch as requests; the first is counted already.
// It does so afterwards, when their number is known: a batch that has begun is
// finished, and the next one waits.
func (s *Kit) charge(c echo.Context, lines int64) {
	if s.Guarding == nil || lines < 2 {
		return
	}
	if count, ok := c.Get(chargeName).(func(int64)); ok {
		count(lines - 1)
	}
}
