package httpapi

import (
	"context"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/collection"
	"quadrille/cmd/tileserver/internal/follow"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/cmd/tileserver/internal/webhook"
)

// hooks has the flags of webhooks, and their sender.
type hooks struct {
	Private bool `group:"data" name:"hooks-private" help:"Let webhooks of live collections go to private addresses, such as those of this machine and its network, and over http. Whoever may write a collection can then reach them."`

	sender *webhook.Sender // nil without live collections
}

var descHooks = web.Metric("hook_deliveries_total",
	"Requests of webhooks, by what became of them; lost counts losses of events.", "outcome")

func init() {
	register(Face{
		Name:     "collection",
		Order:    80,
		Kinds:    collection.Kinds,
		List:     &collection.List,
		Metrics:  []*prometheus.Desc{descHooks},
		Settings: func() Settings { return &hooks{} },
		New: func(p *Parts) Handlers {
			cfg := collection.Config{
				MayRead: p.Kit.MayReadCollection, Batch: p.Batch, Draining: p.Config.Draining,
			}
			if s := flags[hooks](p.Config); s.sender != nil {
				cfg.Hooks = s.sender
				p.Kit.Collect(s.collect)
			}
			return collection.New(p.Kit, cfg)
		},
	})
}

// Open starts the delivery of webhooks, and the reporting of crossings by redrawn borders.
// Boundaries, if any, must already be in service, because crossings depend on them.
func (s *hooks) Open(ctx context.Context, in *Process) error {
	in.OnReady = append(in.OnReady, func() {
		c := in.Config
		if c.Collections.Live == nil {
			return
		}
		c.Views = ask.NewViews(c.Sets) // of the server, too
		s.sender = webhook.Start(ctx, webhook.Config{
			Live:         c.Collections.Live,
			Views:        c.Views,
			CPUScheduler: c.CPUScheduler,
			AllowPrivate: s.Private,
			Grace:        in.GracePeriod,
			Log:          in.Log,
		})
		redraws, end := context.WithCancel(ctx)
		var ended sync.WaitGroup
		ended.Go(func() { follow.ReportRedraws(redraws, c.Collections.Live, c.Views, in.Log) })
		in.OnClose = append(in.OnClose, func() error {
			end()
			s.sender.Close()
			ended.Wait()
			return nil
		})
	})
	return nil
}

// collect reports to Prometheus how the requests of hooks end. Most servers have no hooks, so an
// outcome that has never occurred is omitted, except for deliveries.
func (s *hooks) collect(ch chan<- prometheus.Metric) {
	s.sender.Deliveries(func(outcome string, n int64) {
		if n > 0 || outcome == "delivered" {
			web.SendCounter(ch, descHooks, n, outcome)
		}
	})
}
