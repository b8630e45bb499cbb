package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"quadrille/cellstore/pebblestore"
	"quadrille/cmd/internal/variables"
	"quadrille/cmd/internal/version"
	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/ops"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/places"
	"quadrille/places/points"
	"quadrille/static"
	"quadrille/tiles"
)

// runServer is the command "tileserver serve". It serves until ctx ends. Logging does not wait for
// the reader of the log.
func runServer(ctx context.Context, cfg *config, stdout, stderr io.Writer) error {
	// The reader of the output may stop reading or end; the server continues.
	signal.Ignore(syscall.SIGPIPE)
	lines := newLogQueue(stderr, cfg.handler)
	defer lines.Close(logTimeout)
	address := newLogQueue(stdout, cfg.handler)
	defer address.Close(logTimeout)
	log := slog.New(cfg.handler(lines))
	slog.SetDefault(log) // for the lines of packages that use the default logger
	for _, err := range variables.Unknown(os.Environ()) {
		log.Warn(err.Error())
	}
	cfg.memory.say(cfg, log)
	cfg.memory.tune(int64(cfg.Cache) + cfg.columnBytes())
	cfg.clock = cfg.newClock(log)
	cfg.Guard.clock = cfg.clock
	return serveData(ctx, cfg, log, lines, address)
}

// serveData opens the published data sets, the live collections and everything that serves them. It
// closes them in reverse order after the last request. log writes to lines.
func serveData(ctx context.Context, cfg *config, log *slog.Logger, lines *logQueue, stdout io.Writer) (err error) {
	tiles.SetCacheBytes(cfg.regionBytes())
	tiles.SetColumnBytes(cfg.fieldBytes())
	places.SetCacheBytes(cfg.nearestBytes())
	points.SetColumnBytes(cfg.columnBytes())
	cache := pebblestore.NewCache(cfg.blockCacheBytes())
	defer cache.Close()
	observed := newObserver(cache, version.String())
	data, err := cfg.generations(cache, observed, log)
	if err != nil {
		return err
	}
	followed := &followed{source: data, log: log}
	defer func() { err = errors.Join(err, followed.stop()) }()
	processors := web.NewMachineCPUScheduler()
	live, liveStore, stopLive, err := cfg.openLive(ctx, cache, processors, observed, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopLive()) }()
	followed.collections.Live = live
	api := cfg.api(followed, log)
	api.CPUScheduler, api.Draining = processors, ctx.Done()
	if live != nil && cfg.Guard.Keys == "" {
		log.Warn("nobody can write the live collections, since writes need a key: make one by tileserver keys new NAME "+
			"--keys FILE --scope write:*, and start with --keys FILE too", "live", cfg.Live)
	}
	begin, closeFaces, err := cfg.openFaces(ctx, &api, log)
	defer func() { err = errors.Join(err, closeFaces()) }()
	if err != nil {
		return err
	}
	if followed.follow(ctx) == 0 {
		log.Warn("nothing is published yet, or cannot be reached: run ingest with the same --data or --store, and its data "+
			"will be served as soon as it is there", "data", data.name)
	}
	begin()
	secure, err := cfg.tlsConfig(log, observed.registry)
	if err != nil {
		return err
	}
	observed.registry.MustRegister(api.Metrics, lines.metric())
	metrics := observed.handler(log)
	if cfg.PublicMetrics {
		api.MetricsHandler = metrics
	}
	top, stopCounting, err := cfg.guardAPI(ctx, &api, observed, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopCounting()) }()
	flush, err := cfg.Trace.trace(ctx, &api, log)
	if err != nil {
		return err
	}
	defer flush()
	handler := httpapi.New(api)
	if err := checkBackupDir(cfg.BackupDir); err != nil {
		return err
	}
	if cfg.AdminListen != "" {
		stop, aerr := serveAdmin(cfg.AdminListen,
			adminHandler(handler, api.BasePath, metrics, top, backupHandler(liveStore, cfg.Live, cfg.BackupDir)), log)
		if aerr != nil {
			return aerr
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	if err := cfg.fitFiles(live, log); err != nil {
		return err
	}
	return serve(ctx, cfg, handler, secure, log, stdout)
}

// api returns the configuration of the interface to the followed data sets, with the parts that
// depend only on flags.
func (c *config) api(followed *followed, log *slog.Logger) httpapi.Config {
	api := httpapi.Config{
		Config: web.Config{
			Version:         version.String(),
			PublicURL:       c.publicURL(),
			BasePath:        strings.TrimRight(c.BasePath, "/"),
			TrustedProxies:  c.trusted(),
			ForwardedHeader: c.forwardedHeader(),
			CacheControl:    c.CacheControl,
			CORSOrigin:      c.CORSOrigin,
			MaxConcurrent:   c.MaxConcurrent,
			RequestTimeout:  c.RequestTimeout,
			StreamMemory:    c.streamBytes(),
			AccessLogSample: c.AccessLogSample,
			SlowRequest:     c.SlowRequest,
			Log:             log,
			Metrics:         httpapi.NewMetrics(),
		},
		Sets:               c.sets(followed),
		Settings:           c.faces,
		Store:              followed.source.kind,
		Remote:             c.Store != "",
		EmptyTile:          c.EmptyTile,
		RootGeocoder:       c.RootGeocoder,
		Glyphs:             c.Glyphs,
		BatchLines:         c.BatchLines,
		BatchBytes:         int64(c.BatchBytes),
		BatchTimeout:       c.BatchTimeout,
		PinTiles:           c.PinTiles,
		ResponseCacheBytes: c.responseBytes(),
		Require:            c.Require,
	}
	if c.Store == "" {
		api.NoData = func() error { _, err := os.Stat(c.Data); return err }
	}
	if c.AccessLog {
		api.AccessLog = log
	}
	if page, built := static.FS(); built {
		api.PageFiles = page
	}
	return api
}

// guardAPI sets the API keys and rate limits in api. top returns the busiest clients; it is nil if
// none are counted. stop writes the counts.
func (c *config) guardAPI(ctx context.Context, api *httpapi.Config, observed *observer, log *slog.Logger) (top http.Handler,
	stop func() error, err error) {
	guard, stop, err := c.Guard.guard(ctx, log)
	if err != nil {
		return nil, nil, err
	}
	api.Guard, api.Usage = guard, c.Guard.trouble
	if c.Guard.again != nil {
		c.reloads = append(c.reloads, c.Guard.again)
	}
	if guard != nil {
		observed.registry.MustRegister(meterStats{guard.Meter})
		top = ops.TopHandler(guard.Meter)
	}
	return top, stop, nil
}

// sayServing writes the server's address, as a sentence or, with --log-format json, as a line of
// JSON.
func (c *config) sayServing(stdout io.Writer, url string) {
	if c.LogFormat == "json" {
		slog.New(c.handler(stdout)).Info("Quadrille serves", "url", url)
		return
	}
	fmt.Fprintf(stdout, "Quadrille serves %s\n", url) // to a queue, which never fails
}

// serve answers requests until ctx ends, and then finishes the running requests.
func serve(ctx context.Context, cfg *config, h http.Handler, secure *tls.Config, log *slog.Logger, stdout io.Writer) error {
	listener, err := cfg.listen(log)
	if err != nil {
		return err
	}
	defer cfg.reloadOnSignal()()
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: cfg.ReadTimeout,
		ReadTimeout:       cfg.ReadTimeout,
		WriteTimeout:      cfg.WriteTimeout,
		IdleTimeout:       cfg.IdleTimeout,
		MaxHeaderBytes:    maxHeader,
		TLSConfig:         secure,
		ConnContext:       web.WithConnection,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() {
		l := behindProxies(lazyListener{listener}, cfg.ProxyFrom, cfg)
		if secure != nil {
			failed <- server.ServeTLS(l, "", "") // the certificate is in secure
			return
		}
		failed <- server.Serve(l)
	}()
	cfg.sayServing(stdout, cfg.url(listener.Addr()))

	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	if cfg.DrainDelay > 0 {
		log.Info("serving on until load balancers have noticed", "delay", cfg.DrainDelay)
		select {
		case err := <-failed:
			return err
		case <-time.After(cfg.DrainDelay):
		}
	}
	log.Info("draining", "timeout", cfg.DrainTimeout)
	drain, cancel := context.WithTimeout(context.Background(), cfg.DrainTimeout)
	defer cancel()
	if err := server.Shutdown(drain); err != nil {
		// Requests that still run are aborted, so that the stores can be closed.
		err = fmt.Errorf("requests were still running after --drain-timeout: %w", err)
		return errors.Join(err, server.Close())
	}
	return nil
}
