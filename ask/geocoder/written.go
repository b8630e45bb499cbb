package geocoder

import (
	"errors"
	"net/netip"
	"slices"
	"strings"

	"quadrille/ipgeo"
	"quadrille/places"
	"quadrille/places/names"
)

// written answers texts that are not names: positions, codes of areas and IP addresses.
func (f *finding) written() (done bool, err error) {
	if addr, err := netip.ParseAddr(strings.TrimSpace(f.q.Text)); err == nil && f.wants(Address) &&
		(f.addresses != nil || f.noAddresses != nil) {
		if f.noAddresses != nil {
			return true, f.noAddresses
		}
		return true, f.address(addr)
	}
	if !f.wants(Position) {
		return false, nil
	}
	at, ok := ParsePosition(f.q.Text, first(f.q.Langs))
	if !ok {
		if at, ok, err = f.shortPlus(); err != nil {
			return false, err
		}
	}
	if ok {
		f.found = append(f.found, at)
	}
	return ok, nil
}

// shortPlus answers a plus code without its first digits. The result is the area nearest to the
// place that the text names, or nearest to the position of the bias.
func (f *finding) shortPlus() (r Result, ok bool, err error) {
	code, near, ok := parseShort(f.q.Text)
	if !ok {
		return r, false, nil
	}
	lat, lon := f.q.Lat, f.q.Lon
	if _, _, again := parseShort(near); again {
		return r, false, nil // a code cannot be near another code
	}
	switch {
	case near != "":
		place := *f.q
		place.Text, place.Limit, place.Kinds = near, 1, nil
		inner := *f
		inner.q = &place
		// Keep half of the budget for the text itself, if this finds nothing.
		err := f.share(f.budget.Seeks/2, func() error {
			inner.budget = f.budget
			err := inner.search()
			f.budget = inner.budget
			return err
		})
		if errors.Is(err, places.ErrQuery) || err == nil && len(inner.found) == 0 {
			return r, false, nil
		}
		if err != nil {
			return r, false, err
		}
		lat, lon = inner.found[0].Lat, inner.found[0].Lon
	case !f.q.Bias:
		return r, false, nil
	}
	b, ok := recoverPlus(code, lat, lon)
	if !ok {
		return r, false, nil
	}
	return area(b, plusType), true, nil
}

// address answers an IP address with its place, or with nothing if the address is unknown.
func (f *finding) address(addr netip.Addr) error {
	var res ipgeo.Result
	err := f.addresses.Lookup(f.ctx, addr, &res)
	if errors.Is(err, ipgeo.ErrReserved) || errors.Is(err, ipgeo.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	text := res.Addr.String()
	r := Result{Feature: names.Feature{Kind: Address, ID: text, Name: text, Country: res.Country}}
	lat, lon, known := res.Location()
	if known {
		r.Lat, r.Lon = lat, lon
		if r.Parents, err = f.view.AddressAt(f.ctx, lat, lon); err != nil {
			return err
		}
	}
	if len(r.Parents) > 0 || res.Country == "" || f.names == nil {
		if known {
			f.found = append(f.found, r)
		}
		return nil
	}
	// The source has only the country.
	list, err := f.regionsNamed(res.Country, false)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(c names.Feature) bool { return c.Level == 0 && c.Country == res.Country })
	switch {
	case i >= 0:
		c := &list[i]
		r.Parents = []names.Parent{{Type: c.Type, ID: c.ID, Name: c.Name}}
		if !known {
			r.Lat, r.Lon, r.Bounds = c.Lat, c.Lon, c.Bounds
		}
	case !known:
		return nil
	}
	f.found = append(f.found, r)
	return nil
}
