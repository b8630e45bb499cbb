package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/cmd/tileserver/internal/quota"
	"quadrille/cmd/tileserver/internal/web"
)

// guardConfig has the flags for API keys, rate limits and usage counts.
type guardConfig struct {
	Keys         string  `placeholder:"FILE" help:"Ask for a key. Lines of NAME:SHA256 and limits, as tileserver keys new NAME makes them. Changes are taken into use within seconds."`
	Anonymous    bool    `help:"With --keys: let requests without a key pass too, within --address-limit."`
	KeyLimit     []limit `placeholder:"N/WINDOW" help:"Requests that a key may make which has no limits of its own, such as 600/1m; windows are 1m, 1h and 1d of the clock; repeatable."`
	AddressLimit []limit `placeholder:"N/WINDOW" help:"Requests that an address without a key may make, such as 60/1m; an IPv6 address counts as its /64; repeatable."`
	Usage        string  `placeholder:"DIR" help:"Keep the counts of keys and addresses in a store of their own in this directory, so that they outlive a restart. Of several servers each needs its own."`
	UsageClients int     `default:"65536" placeholder:"N" help:"Addresses counted at once, ${default} if not given, at some 250 bytes each; those that ask least make room."`

	clock   *cellstore.Clock
	again   func()       // looks at the file of keys again, nil without
	trouble func() error // says why counts are not kept, nil without --usage
}

type limit quota.Limit

func (l *limit) UnmarshalText(text []byte) error {
	v, err := quota.ParseLimit(string(text))
	*l = limit(v)
	return err
}

// MarshalText is the inverse of UnmarshalText.
func (l limit) MarshalText() ([]byte, error) { return []byte(quota.Limit(l).String()), nil }

func sumLimits(flag string, list []limit) (all quota.Limits, err error) {
	for _, l := range list {
		if err := all.Add(quota.Limit(l)); err != nil {
			return all, fmt.Errorf("%s: %w", flag, err)
		}
	}
	return all, nil
}

// Validate is called by the parser.
func (c *guardConfig) Validate() error {
	if _, err := sumLimits("--key-limit", c.KeyLimit); err != nil {
		return err
	}
	if _, err := sumLimits("--address-limit", c.AddressLimit); err != nil {
		return err
	}
	switch {
	case c.Keys == "" && (c.Anonymous || len(c.KeyLimit) > 0):
		return errors.New("--anonymous and --key-limit are about keys: give --keys too")
	case c.Usage != "" && !c.on():
		return errors.New("--usage keeps what is counted for --keys and --address-limit: give one of them")
	case c.UsageClients < 64 || c.UsageClients > 1<<24:
		return errors.New("--usage-clients must be from 64 to 16777216")
	}
	return nil
}

func (c *guardConfig) on() bool { return c.Keys != "" || len(c.AddressLimit) > 0 }

// guard makes the guard that the flags configure. It is nil if none of them is set. stop writes the
// counts.
func (c *guardConfig) guard(ctx context.Context, log *slog.Logger) (g *web.Guard, stop func() error, err error) {
	stop = func() error { return nil }
	if !c.on() {
		return nil, stop, nil
	}
	g = &web.Guard{Anonymous: c.Anonymous}
	g.KeyLimits, _ = sumLimits("", c.KeyLimit) // Validate has seen them
	g.AddressLimits, _ = sumLimits("", c.AddressLimit)
	if c.Keys != "" {
		keys, err := c.openKeys(log)
		if err != nil {
			return nil, nil, err
		}
		g.Keys = keys.get
		c.again = keys.again
	}
	opts := quota.Options{Clients: c.UsageClients, Log: log}
	if c.clock != nil { // one clock for the windows and for the store, which expires their counts
		began := time.Now()
		opts.Now, opts.Monotonic = c.clock.Time, func() time.Duration { return time.Since(began) }
	}
	closeStore := stop
	if c.Usage != "" {
		if g.Meter, closeStore, err = c.openUsage(ctx, log, opts); err != nil {
			return nil, nil, err
		}
	}
	if g.Meter == nil {
		if g.Meter, err = quota.Open(ctx, opts); err != nil {
			return nil, nil, err
		}
	}
	// It writes until stop is called after the last request.
	running, end := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() { done <- g.Meter.Run(running) }()
	return g, func() error {
		end()
		return errors.Join(<-done, closeStore())
	}, nil
}

// openKeys reads the file of keys, now and whenever it has changed.
func (c *guardConfig) openKeys(log *slog.Logger) (*reloaded[*quota.Keys], error) {
	first := true
	return newReloaded(log, "--keys", func() (*quota.Keys, error) {
		keys, err := c.readKeys()
		if first && errors.Is(err, quota.ErrUnfinished) && keys.Len() > 0 {
			// When a changed file is read, the previous keys would stay in use. At the start there
			// are no previous keys.
			log.Warn("the last key is not used, the others are", "flag", "--keys", "error", err)
			err = nil
		}
		if err == nil && keys.Len() == 0 {
			log.Warn("the file has no key, so that none is accepted: add one by tileserver keys new NAME --keys FILE", "flag", "--keys",
				"file", c.Keys)
		}
		first = false
		return keys, err
	}, c.Keys)
}

// openUsage opens the store of --usage and continues its counts. If the store is damaged, meter is
// nil, so that the rest of the counts is not overwritten.
func (c *guardConfig) openUsage(ctx context.Context, log *slog.Logger, opts quota.Options) (meter *quota.Meter,
	closeStore func() error, err error) {
	u := &usage{log: log.With("flag", "--usage"), openStore: func() (*pebblestore.Store, error) {
		return pebblestore.Open(c.Usage, &pebblestore.Options{Logger: log, Clock: c.clock, CacheBytes: usageCache})
	}}
	err = u.open(ctx)
	if errors.Is(err, cellstore.ErrLocked) {
		return nil, nil, fmt.Errorf("--usage %s is in use by another server: give each a directory of its own: %w", c.Usage, err)
	}
	if errors.Is(err, cellstore.ErrNoSpace) { // mend opens it once there is room
		u.report(err)
		err = nil
	}
	if err == nil {
		opts.Table = u
		meter, err = quota.Open(ctx, opts)
	}
	switch {
	case errors.Is(err, cellstore.ErrCorrupt):
		u.report(err)
		meter = nil
	case err != nil:
		return nil, nil, errors.Join(fmt.Errorf("--usage: %w", err), u.close())
	default:
		u.keepMended()
	}
	c.trouble = u.why
	return meter, u.close, nil
}

func (c *guardConfig) readKeys() (*quota.Keys, error) {
	f, err := os.Open(c.Keys)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	keys, err := quota.ReadKeys(f)
	if err != nil {
		err = fmt.Errorf("%s: %w", c.Keys, err)
	}
	return keys, err
}

// meterStats collects the metrics about the counts of clients.
type meterStats struct{ meter *quota.Meter }

var (
	descCounted = prometheus.NewDesc("quadrille_usage_clients", "Clients counted in memory.", []string{"kind"}, nil)
	descEvicted = prometheus.NewDesc("quadrille_usage_evicted_total",
		"Addresses that made room for others; raise --usage-clients if they are many.", nil, nil)
	descLost = prometheus.NewDesc("quadrille_usage_lost_total", "Counts, by window, that could not be written to --usage.", nil, nil)
)

// Describe implements prometheus.Collector.
func (m meterStats) Describe(ch chan<- *prometheus.Desc) {
	ch <- descCounted
	ch <- descEvicted
	ch <- descLost
}

// Collect implements prometheus.Collector.
func (m meterStats) Collect(ch chan<- prometheus.Metric) {
	st := m.meter.Stats()
	ch <- prometheus.MustNewConstMetric(descCounted, prometheus.GaugeValue, float64(st.Addresses), "address")
	ch <- prometheus.MustNewConstMetric(descCounted, prometheus.GaugeValue, float64(st.Keys), "key")
	ch <- prometheus.MustNewConstMetric(descEvicted, prometheus.CounterValue, float64(st.Evicted))
	ch <- prometheus.MustNewConstMetric(descLost, prometheus.CounterValue, float64(st.Lost))
}
