package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strings"
	"time"

	"quadrille/cmd/tileserver/internal/ops"
)

// adminHandler returns the handler of the listener of --admin-listen: metrics, profiles and
// backups, and below base the states that main also serves, here with private collections.
func adminHandler(main http.Handler, base string, metrics, top, backup http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	main = ops.ForOperator(main)
	for _, path := range []string{"/healthz", "/readyz", "/status"} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			r.URL.Path, r.URL.RawPath = base+path, ""
			main.ServeHTTP(w, r)
		})
	}
	if top == nil {
		top = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Cache-Control", "no-store")
			http.Error(w, "No client is counted: start the server with --keys or --address-limit.", http.StatusNotFound)
		})
	}
	mux.Handle("GET /usage/top", top)
	mux.Handle("POST "+backupPath, backup)
	return mux
}

// localOnly protects a listener on this machine from web pages that use a host name of their own
// which resolves to this machine (DNS rebinding). A request must name the machine itself as the
// host.
func localOnly(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
		if !strings.EqualFold(host, "localhost") && (err != nil || !addr.IsLoopback()) {
			http.Error(w, "Ask for localhost, 127.0.0.1 or [::1]: this listener is for this machine alone.", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// serveAdmin serves the admin listener until stop is called. stop cuts off running requests:
// profiles are not worth waiting for.
func serveAdmin(address string, h http.Handler, log *slog.Logger) (stop func() error, err error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen for administration, choose another --admin-listen: %w", err)
	}
	if a, ok := l.Addr().(*net.TCPAddr); ok && a.IP.IsLoopback() {
		h = localOnly(h)
	} else {
		log.Warn("--admin-listen is open to other machines, and asks nobody for a key: keep it behind a firewall", "address", l.Addr().String())
	}
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	log.Info("administration", "url", "http://"+l.Addr().String())
	return func() error {
		err := server.Close()
		if served := <-done; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		return err
	}, nil
}
