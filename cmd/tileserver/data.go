package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cellstore/hbasestore"
	"quadrille/cellstore/pebblestore"
	"quadrille/cellstore/rowcache"
	"quadrille/cmd/internal/catalogue"
	"quadrille/cmd/internal/hbasedepot"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/ipgeo"
	"quadrille/places/live"
	"quadrille/places/points"
)

// source is the source of the server's generations: a directory or a store.
type source struct {
	from *dataset.Generations
	kind string // for /status
	name string // for the operator; without credentials
	// patience bounds the time that starting waits for the data.
	patience time.Duration
	close    func() error
}

// blockCacheBytes returns the rest of --cache, for blocks of local stores. With --store, the rest
// is for rows of the remote store.
func (c *config) blockCacheBytes() int64 {
	if c.Store != "" {
		return 1 << 20
	}
	return c.storeBytes()
}

// generations opens the directory or the store with the data that is served.
func (c *config) generations(cache *pebblestore.Cache, observed *observer, log *slog.Logger) (source, error) {
	if c.Store != "" {
		return c.depot(observed)
	}
	catalog, err := dataset.Open(c.Data, func(name, dir string, readOnly bool) (cellstore.Store, error) {
		store, err := pebblestore.Open(dir, &pebblestore.Options{ReadOnly: readOnly, Cache: cache, Logger: log})
		if err != nil {
			return nil, err
		}
		return observed.stores.opened(store, name), nil
	})
	if err != nil {
		return source{}, err
	}
	return source{from: catalog.Generations, kind: "local", name: catalog.Dir(), patience: time.Hour, close: func() error { return nil }}, nil
}

// remotePatience bounds how long the start waits for a store that does not answer. Afterwards the
// server listens anyway, and becomes ready once the store answers.
const remotePatience = 5 * time.Second

func (c *config) depot(observed *observer) (source, error) {
	rows := rowcache.NewCache(c.storeBytes())
	observed.remote.cache = rows
	o := hbasedepot.Options{Data: c.Data, ReadOnly: true, WrapStore: func(s *hbasestore.Store, dataset string) cellstore.Store {
		counted := observed.remote.opened(s, dataset)
		if dataset == "" {
			return counted // the rows of the catalog change
		}
		return rowcache.New(counted, rowcache.Options{Cache: rows})
	}}
	if !c.IPIndex {
		o.Skip = []string{ipgeo.IndexFileName}
	}
	depot, err := hbasedepot.Open(c.Store, o)
	if err != nil {
		return source{}, err
	}
	return source{from: depot.Generations, kind: hbasestore.Scheme, name: depot.Name(), patience: remotePatience, close: depot.Close}, nil
}

// followed has the data sets that the server follows.
type followed struct {
	source
	log *slog.Logger
	all []ask.LiveDataset

	// Users choose the names of these data sets, and new ones may appear.
	collections ask.Collections
	regions     ask.DatasetGroup[*ask.RegionSet]
	looking     sync.WaitGroup
	stopLooking context.CancelFunc // nil before looking begins
}

// sets returns the data sets that are served.
func (c *config) sets(s *followed) ask.Sets {
	sets := ask.FollowOptions{Notify: s.notify, AddressTable: !c.IPIndex}.Sets(s.from)
	sets.RegionSets, sets.Collections, sets.CountryByMap = &s.regions, &s.collections, c.CountryOf == "map"
	s.all = append(s.all, sets.LiveDatasets()...)
	return sets
}

// notify logs a change of a data set's state.
func (s *followed) notify(st dataset.Status) {
	if st.Damage != nil {
		s.log.Error("data set in service is damaged", "dataset", st.Dataset, "error", st.Damage)
	}
	switch {
	case st.Err != nil:
		s.log.Error("data set cannot be taken into service", "dataset", st.Dataset, "error", st.Err)
	case st.Serving != nil && st.Damage == nil:
		s.log.Info("serving", "dataset", st.Dataset, "generation", st.Serving.Generation, "built", st.Serving.Built)
		if old := catalogue.Outdated(st.Serving, time.Now()); old != "" {
			s.log.Warn(old, "dataset", st.Dataset, "generation", st.Serving.Generation)
		}
		for _, text := range catalogue.Warnings(st.Serving) {
			s.log.Warn(text, "dataset", st.Dataset, "generation", st.Serving.Generation)
		}
	case st.Serving == nil && st.Published == 0:
		s.log.Warn("data set is out of service, nothing of it is published any more", "dataset", st.Dataset)
	}
}

// follow takes the published generations of all data sets into service concurrently. Until ctx
// ends, it also takes each newly published generation into service. It returns the initial number
// of served data sets. A missing or broken data set does not delay the others: patience bounds the
// time until follow returns.
func (s *followed) follow(ctx context.Context) int {
	first, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	var serving atomic.Int64
	var wg sync.WaitGroup
	begin := func(l ask.LiveDataset) {
		_ = l.Poll(first)              // notify has said why
		go func() { _ = l.Run(ctx) }() // ends with ctx or Close, and reports through notify
		if l.Status().Serving != nil {
			serving.Add(1)
		}
	}
	for _, l := range s.all {
		wg.Go(func() { begin(l) })
	}
	s.look(first, func(l ask.LiveDataset) { wg.Go(func() { begin(l) }) })
	wg.Wait()
	var looking context.Context
	looking, s.stopLooking = context.WithCancel(ctx)
	s.looking.Go(func() { s.lookAgain(looking) })
	return int(serving.Load())
}

// lookInterval is the interval of checks for new data sets that users name. It equals the interval
// of checks for new generations.
const lookInterval = 2 * time.Second

// lookAgain takes newly published data sets that users name into service until ctx ends.
func (s *followed) lookAgain(ctx context.Context) {
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.look(ctx, func(l ask.LiveDataset) {
				go func() { _ = l.Run(ctx) }() // ends with ctx or Close, and reports through notify
			})
		}
	}
}

// look calls begin with each published data set of a family that is not followed yet, and removes
// collections that are no longer published.
func (s *followed) look(ctx context.Context, begin func(ask.LiveDataset)) {
	names, err := s.from.Datasets(ctx)
	if err != nil {
		// The store does not answer. The data sets that are already followed report this.
		s.log.Debug("data sets that users name cannot be listed", "error", err)
		return
	}
	s.forget(names)
	lookFor(s, ask.CollectionPrefix, &s.collections.DatasetGroup, ask.CollectionOf, names, begin)
	// Dropped layers are still followed: clients that follow them get events from the generation
	// that was in service.
	lookFor(s, ask.RegionSetPrefix, &s.regions, ask.RegionSetOf, names, begin)
}

// forget stops following collections that are no longer published.
func (s *followed) forget(names []string) {
	s.all = slices.DeleteFunc(s.all, func(l ask.LiveDataset) bool {
		st := l.Status()
		name, ok := strings.CutPrefix(st.Dataset, ask.CollectionPrefix)
		if !ok || slices.Contains(names, st.Dataset) || catalogue.State(st) != catalogue.Missing {
			return false
		}
		s.collections.Remove(name)
		s.looking.Go(func() {
			if err := l.Close(); err != nil {
				s.log.Error("data set was not closed as it should be", "dataset", st.Dataset, "error", err)
			}
		})
		return true
	})
}

// lookFor does the part of look for the data sets of one family.
func lookFor[R any](
	s *followed, prefix string, family *ask.DatasetGroup[R], of func(string) *ask.DatasetOf[R], names []string, begin func(ask.LiveDataset),
) {
	found := map[string]*dataset.Live[R]{}
	for _, set := range names {
		name, ok := strings.CutPrefix(set, prefix)
		if !ok || live.CheckName(name) != nil || family.Published(name) != nil {
			continue
		}
		l := of(name).Live(s.from)
		l.Notify = s.notify
		found[name] = l
	}
	family.AddAll(found)
	for _, l := range found {
		s.all = append(s.all, l)
		begin(l)
	}
}

// stop takes everything out of service and closes the source.
func (s *followed) stop() error {
	if s.stopLooking != nil {
		s.stopLooking()
		s.looking.Wait()
	}
	var errs []error
	for _, l := range s.all {
		errs = append(errs, l.Close())
	}
	return errors.Join(append(errs, s.close())...)
}

// newClock returns the clock that live collections and counts use.
func (c *config) newClock(log *slog.Logger) *cellstore.Clock {
	return cellstore.NewClock(cellstore.ClockOptions{Skew: c.ClockSkew, OnStep: func(by time.Duration, followed bool) {
		switch {
		case by < 0:
			log.Warn("the clock of this machine was set back: live collections and counts follow it", "by", -by)
		case followed:
			log.Warn("the clock of this machine stays ahead: live collections and counts follow it now", "by", by)
		default:
			log.Warn("the clock of this machine was set ahead: live collections and counts follow it once that has lasted for --clock-skew", "by", by, "flag", "--clock-skew", "skew", c.ClockSkew)
		}
	}})
}

// writesClient is the name under which commits occupy processors. No API key has such a name.
const writesClient = "\x00writes"

// openLive opens the live collections of --live. stop waits for the running writes and closes them.
func (c *config) openLive(ctx context.Context, cache *pebblestore.Cache, processors *web.CPUScheduler, observed *observer,
	log *slog.Logger) (collections *live.Store, store cellstore.Store, stop func() error, err error) {
	none := func() error { return nil }
	if c.Live == "" {
		return nil, nil, none, nil
	}
	local, err := pebblestore.Open(c.Live, &pebblestore.Options{Cache: cache, Clock: c.clock, Logger: log})
	if errors.Is(err, cellstore.ErrLocked) {
		return nil, nil, none, fmt.Errorf("--live: %s is in use by another process: stop it, or name another directory: %w", c.Live, err)
	}
	if err != nil {
		return nil, nil, none, fmt.Errorf("--live: %w", err)
	}
	if err := checkRepaired(c.Live); err != nil {
		return nil, nil, none, errors.Join(fmt.Errorf("--live: %w", err), local.Close())
	}
	names, err := onlyLive(ctx, local, c.Live)
	if limit, open, ok := openFiles(); ok && err == nil {
		err = checkFiles(limit, open, int64(len(names)))
	}
	if err != nil {
		return nil, nil, none, errors.Join(fmt.Errorf("--live: %w", err), local.Close())
	}
	store = observed.stores.opened(local, liveName)
	opts := live.Options{
		Notify: func(t live.Trouble) { logTrouble(log, t) },
		Turn:   func() live.Turn { return processors.Turn(web.Client{Key: writesClient}) },
	}
	if collections, err = opts.Open(ctx, store, points.LiveKind); err != nil {
		return nil, nil, none, errors.Join(fmt.Errorf("--live: %w", err), store.Close())
	}
	return collections, store, func() error { return errors.Join(collections.Close(), store.Close()) }, nil
}

// logTrouble logs a change of a live collection's state.
func logTrouble(log *slog.Logger, t live.Trouble) {
	log = log.With("collection", t.Name)
	switch {
	case t.Err == nil:
		log.Info("the live collection takes writes again")
	case errors.Is(t.Err, live.ErrUnfinished):
		log.Warn("a live collection was not made to the end and holds nothing; it is made by the next PUT of the name")
	case errors.Is(t.Err, live.ErrDamaged):
		log.Error("a live collection is damaged and left as it is; the others are served", "error", t.Err.Error())
	case errors.Is(t.Err, cellstore.ErrLayout):
		log.Error("a live collection is of another release, and left as it is; the others are served", "error", t.Err.Error())
	case errors.Is(t.Err, live.ErrUnreadable):
		log.Error("a live collection cannot be read now, which is tried again; the others are served", "error", t.Err.Error())
	default:
		log.Error("a live collection takes no writes until the disk does; it is served as it is on the disk", "error", t.Err.Error())
	}
}

// liveName is the name of the store of live collections in metrics.
const liveName = "live"
