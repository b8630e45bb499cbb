package httpapi

import (
	"context"
	"fmt"
	"os"

	"quadrille/cmd/tileserver/internal/geoip"
)

// geoIP has the flags for the GeoIP2 endpoints, and the accounts that they name.
type geoIP struct {
	Keys string `group:"clients" name:"geoip-keys" placeholder:"FILE" help:"Accounts that may use /geoip/v2.1: lines of ACCOUNT:SHA256, the hash of the license key as by: printf %s KEY | sha256sum. Without it everybody may. Changes are taken into use within seconds."`

	accounts func() *geoip.Accounts // nil for everybody
}

func init() {
	register(Face{
		Name: "geoip", Order: 120, Settings: func() Settings { return &geoIP{} },
		New: func(p *Parts) Handlers { return geoip.New(p.Kit, flags[geoIP](p.Config).accounts) },
	})
}

// Open reads the accounts.
func (s *geoIP) Open(_ context.Context, in *Process) error {
	if s.Keys == "" {
		return nil
	}
	get, err := in.Reloading("--geoip-keys", func() (any, error) {
		f, err := os.Open(s.Keys)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		accounts, err := geoip.ReadAccounts(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Keys, err)
		}
		return accounts, nil
	}, s.Keys)
	s.accounts = func() *geoip.Accounts { return get().(*geoip.Accounts) }
	return err
}
