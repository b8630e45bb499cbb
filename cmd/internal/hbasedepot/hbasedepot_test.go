package hbasedepot_test

import (
	"strings"
	"testing"

	"quadrille/cmd/internal/hbasedepot"
)

// A depot's name is its address without credentials, even before it is connected.
func TestOpen(t *testing.T) {
	const address = "hbase://user:secret@one:9090,two:9090/quadrille?transport=http&tls=on"
	d, err := hbasedepot.Open(address, hbasedepot.Options{Data: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if d.Name() != "hbase://one:9090,two:9090/quadrille" {
		t.Errorf("it is called %s", d.Name())
	}
	for _, right := range []string{"", address} {
		if err := hbasedepot.Check(right); err != nil {
			t.Errorf("%q: %v", right, err)
		}
	}
	for _, wrong := range []string{"one:9090", "http://one:9090/", "hbase://user:secret@one:9090/quadrille"} {
		if err := hbasedepot.Check(wrong); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", wrong, err)
		}
		if _, err := hbasedepot.Open(wrong, hbasedepot.Options{}); err == nil {
			t.Errorf("%q is opened", wrong)
		}
	}
}
