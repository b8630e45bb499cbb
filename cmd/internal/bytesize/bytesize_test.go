package bytesize_test

import (
	"testing"

	"quadrille/cmd/internal/bytesize"
)

func TestSize(t *testing.T) {
	for text, want := range map[string]bytesize.Size{"0": 0, "1024": 1024, "2GiB": 2 << 30, "1.5 g": 3 << 29, "500MB": 500e6, "1tb": 1e12} {
		var b bytesize.Size
		if err := b.UnmarshalText([]byte(text)); err != nil || b != want {
			t.Errorf("%q: %d, %v; want %d", text, b, err, want)
		}
	}
	for _, text := range []string{"", "GiB", "-1", "1XB", "NaN", "1e30", "many"} {
		var b bytesize.Size
		if err := b.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q: %d", text, b)
		}
	}
}
