package cellstore_test

import (
	"errors"
	"strings"
	"testing"

	"quadrille/cellstore"
)

func TestCheckLayout(t *testing.T) {
	for _, tt := range []struct {
		found       int
		renew       string
		want, never error
		todo        string
	}{
		{
			5,
			"run ingest places",
			cellstore.ErrNewer,
			cellstore.ErrOlder,
			"layout 5 of places, this program reads up to 4: update the program, or run ingest places",
		},
		{5, "", cellstore.ErrNewer, cellstore.ErrOlder, "up to 4: update the program"},
		{2, "run ingest places", cellstore.ErrOlder, cellstore.ErrNewer, "layout 2 of places, this program reads from 3 on: run ingest places"},
		{2, "", cellstore.ErrOlder, cellstore.ErrNewer, "from 3 on: use the program that wrote it"},
	} {
		err := cellstore.CheckLayout("places", tt.found, 3, 4, tt.renew)
		if !errors.Is(err, tt.want) || !errors.Is(err, cellstore.ErrLayout) || errors.Is(err, tt.never) ||
			errors.Is(err, cellstore.ErrCorrupt) || !strings.HasSuffix(err.Error(), tt.todo) {
			t.Errorf("%d: %v", tt.found, err)
		}
	}
	for _, found := range []int{3, 4} {
		if err := cellstore.CheckLayout("places", found, 3, 4, ""); err != nil {
			t.Error(err)
		}
	}
}
