package main

import (
	"os"
	"testing"

	"quadrille/cmd/internal/programs"
)

func TestMain(m *testing.M) {
	if os.Getenv("TILESERVER_TEST_RUN") != "" { // see keysNew
		main()
		return
	}
	programs.Main(m)
}
