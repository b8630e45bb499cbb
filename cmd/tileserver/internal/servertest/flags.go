package servertest

import (
	"log/slog"
	"reflect"
	"slices"
	"testing"

	"quadrille/cmd/tileserver/internal/httpapi"
)

// SetFlag sets a flag like an operator, and opens the files that it names until the test ends.
// Without values, the flag has its default. look checks the files for changes.
func SetFlag(t testing.TB, cfg *httpapi.Config, name string, values ...string) (look func()) {
	t.Helper()
	all := httpapi.NewSettings()
	field := func(s httpapi.Settings) reflect.Value {
		v := reflect.ValueOf(s).Elem()
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("name") == name {
				return v.Field(i)
			}
		}
		return reflect.Value{}
	}
	i := slices.IndexFunc(all, func(s httpapi.Settings) bool { return field(s).IsValid() })
	if i < 0 {
		t.Fatalf("no face has the flag --%s", name)
	}
	switch f := field(all[i]); {
	case len(values) == 0:
	case f.Kind() == reflect.Slice:
		f.Set(reflect.ValueOf(values))
	default:
		f.SetString(values[0])
	}
	if s, ok := all[i].(interface{ Validate() error }); ok {
		if err := s.Validate(); err != nil {
			t.Fatal(err)
		}
	}
	in := &httpapi.Process{Config: cfg, Log: slog.New(slog.DiscardHandler), CacheBytes: 8 << 20}
	in.Reloading = func(_ string, load func() (any, error), _ ...string) (get func() any, err error) {
		loaded, err := load()
		return func() any { return loaded }, err
	}
	t.Cleanup(func() {
		for _, end := range in.OnClose {
			if err := end(); err != nil {
				t.Error(err)
			}
		}
	})
	kept := cfg.ResponseCacheBytes // a face may take a share of it
	if err := all[i].Open(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	cfg.ResponseCacheBytes, cfg.Settings = kept, append(cfg.Settings, all[i])
	for _, ready := range in.OnReady {
		ready()
	}
	return func() {
		for _, look := range in.PollFiles {
			look()
		}
	}
}
