package basemap_test

import (
	"testing"

	"quadrille/cmd/tileserver/internal/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }
