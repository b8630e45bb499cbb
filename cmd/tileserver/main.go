// Command tileserver serves published data sets over HTTP: map tiles, what is
// at a point, nearby places and IP geolocation.
//
// It opens the generations that ingest has published below its data directory, takes
// newer ones into service as they appear, and may run any number of times over one
// directory. It holds no state of its own but the live collections of points that
// --live names.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"quadrille/cellstore/pebblestore"
	"quadrille/cmd/internal/configfile"
	"quadrille/cmd/internal/variables"
	"quadrille/cmd/internal/version"
	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/ops"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/static"
)

func main() {
	configfile.UnsetEmpty(variables.Prefix)
	if runtime.GOMAXPROCS(0) == 1 && os.Getenv("GOMAXPROCS") == "" {
		// With one alone nobody looks at connections for 10 ms while anything is worked on,
		// or while a write waits for the disk.
		runtime.GOMAXPROCS(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal drains; a second one, after this, kills.
	context.AfterFunc(ctx, stop)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		last := newLogQueue(os.Stderr, (&config{}).handler) // whose reader may be stuck
		fmt.Fprintln(last, "tileserver:", err)
		last.Close(logTimeout)
	}
	os.Exit(exitCode(err))
}

// exitCode: 0 done, 1 failed, 2 asked wrongly. Both programs have these.
func exitCode(err error) int {
	var usage *usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		return 2
	}
	return 1
}

// usageError is a command line, environment or configuration file that cannot
// be followed.
type usageError struct{ err error }

func (e *usageError) Error() string {
	return e.err.Error() + "; run tileserver --help, or tileserver COMMAND --help"
}
func (e *usageError) Unwrap() error { return e.err }

// run is the program. It returns when ctx ends, after draining, or when it
// cannot go on.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	cfg, err := parse(args, stdout, stderr)
	if errors.Is(err, errDone) {
		return nil
	}
	if err != nil {
		return err
	}
	log := slog.New(cfg.handler(stderr))
	var lines *logQueue
	switch cfg.command {
	case "serve":
		// Whoever reads what it says may stop reading or end; then it serves on.
		signal.Ignore(syscall.SIGPIPE)
		lines = newLogQueue(stderr, cfg.handler)
		defer lines.Close(logTimeout)
		said := newLogQueue(stdout, cfg.handler)
		defer said.Close(logTimeout)
		log, stdout = slog.New(cfg.handler(lines)), said
		slog.SetDefault(log) // for the lines of packages that know no other
	case "keys new <name>":
		return cfg.KeyCommand.New.run(ctx, cfg.Guard.Keys, stdout, stderr)
	case "live verify <dir>":
		return cfg.LiveCommand.Verify.run(ctx, stdout)
	case "live export <dir>":
		return cfg.LiveCommand.Export.run(ctx, stdout, stderr)
	case "live repair <dir>":
		return cfg.LiveCommand.Repair.run(ctx, stdout)
	case "live backup <dir> <to>":
		return cfg.LiveCommand.Backup.run(ctx, cfg.AdminListen, stdout)
	default:
		return cfg.inspect(log, stdout)
	}
	for _, err := range variables.Unknown(os.Environ()) {
		log.Warn(err.Error())
	}
	tuneMemory(int64(cfg.Cache))

	cfg.clock = cfg.newClock(log)
	cfg.Guard.clock = cfg.clock
	cache := pebblestore.NewCache(cfg.blockCacheBytes())
	defer cache.Close()
	observed := newObserver(cache, version.String())
	data, err := cfg.generations(cache, observed, log)
	if err != nil {
		return err
	}
	followed := &followed{source: data, log: log}
	defer func() { err = errors.Join(err, followed.stop()) }()
	processors := web.AllProcessors()
	live, liveStore, stopLive, err := cfg.openLive(ctx, cache, processors, observed, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopLive()) }()
	followed.collections.Live = live
	sets := cfg.sets(followed)
	if live != nil && cfg.Guard.Keys == "" {
		log.Warn("nobody can write the live collections, since writes need a key: make one by tileserver keys new NAME --keys FILE --scope write:*, and start with --keys FILE too", "live", cfg.Live)
	}

	api := httpapi.Config{
		Config: web.Config{
			Version:         version.String(),
			PublicURL:       cfg.publicURL(),
			BasePath:        strings.TrimRight(cfg.BasePath, "/"),
			TrustedProxies:  cfg.trusted(),
			ForwardedHeader: cfg.forwardedHeader(),
			CacheControl:    cfg.CacheControl,
			CORSOrigin:      cfg.CORSOrigin,
			MaxConcurrent:   cfg.MaxConcurrent,
			RequestTimeout:  cfg.RequestTimeout,
			Log:             log,
			Metrics:         httpapi.NewMetrics(),
		},
		Sets:               sets,
		Settings:           cfg.faces,
		Store:              data.kind,
		Remote:             cfg.Store != "",
		EmptyTile:          cfg.EmptyTile,
		RootGeocoder:       cfg.RootGeocoder,
		Glyphs:             cfg.Glyphs,
		BatchLines:         cfg.BatchLines,
		BatchBytes:         int64(cfg.BatchBytes),
		BatchTimeout:       cfg.BatchTimeout,
		PinTiles:           cfg.PinTiles,
		ResponseCacheBytes: cfg.responseBytes(),
		Require:            cfg.Require,
		Draining:           ctx.Done(),
	}
	api.Processors = processors
	begin, closeFaces, err := cfg.openFaces(ctx, &api, log)
	defer func() { err = errors.Join(err, closeFaces()) }()
	if err != nil {
		return err
	}
	if cfg.Store == "" {
		api.NoData = func() error { _, err := os.Stat(cfg.Data); return err }
	}
	if followed.follow(ctx) == 0 {
		log.Warn("nothing is published yet, or cannot be reached: run ingest with the same --data or --store, and its data will be served as soon as it is there", "data", data.name)
	}
	begin()
	observed.registry.MustRegister(api.Metrics)
	observed.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "quadrille_log_dropped_total", Help: "Lines of the log that nobody will read: its reader was too slow or gone, or its disk full.",
	}, func() float64 { return float64(lines.dropped.Load()) }))
	metrics := observed.handler(log)
	if cfg.PublicMetrics {
		api.MetricsHandler = metrics
	}
	if cfg.AccessLog {
		api.AccessLog = log
	}
	if page, built := static.FS(); built {
		api.Page = page
	}
	guard, stopCounting, err := cfg.Guard.guard(ctx, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopCounting()) }()
	api.Usage = cfg.Guard.trouble
	if cfg.Guard.again != nil {
		cfg.reloads = append(cfg.reloads, cfg.Guard.again)
	}
	var top http.Handler
	if api.Guard = guard; guard != nil {
		observed.registry.MustRegister(meterStats{guard.Meter})
		top = ops.TopHandler(guard.Meter)
	}
	api.AccessLogSample, api.SlowRequest = cfg.AccessLogSample, cfg.SlowRequest
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
		stop, aerr := serveAdmin(cfg.AdminListen, adminHandler(handler, api.BasePath, metrics, top, backupHandler(liveStore, cfg.Live, cfg.BackupDir)), log)
		if aerr != nil {
			return aerr
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	if err := cfg.fitFiles(live, log); err != nil {
		return err
	}
	return serve(ctx, cfg, handler, log, stdout)
}

// serve answers requests until ctx ends, and then those that are running.
func serve(ctx context.Context, cfg *config, h http.Handler, log *slog.Logger, stdout io.Writer) error {
	secure, err := cfg.tlsConfig(log)
	if err != nil {
		return err
	}
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
	if _, err := fmt.Fprintf(stdout, "Quadrille serves %s\n", cfg.url(listener.Addr())); err != nil {
		log.Debug("standard output is closed", "error", err)
	}

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
		// What is still running is cut off, so that the stores can be closed.
		err = fmt.Errorf("requests were still running after --drain-timeout: %w", err)
		return errors.Join(err, server.Close())
	}
	return nil
}

// tuneMemory trades memory that is free anyway for fewer garbage collections:
// with a small heap they would run hundreds of times a second under load. Above
// the caches and workingMemory the collector becomes as eager as it has to be.
// What the environment says wins.
func tuneMemory(cache int64) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(cache + workingMemory)
	}
}

// workingMemory is what the server may use in bytes apart from its caches
// before memory gets more important than speed. What the store has outside the
// heap, some 10 MiB, comes on top: together they are below the 100 MiB that
// `httpbench start` measures against.
const workingMemory = 84 << 20
