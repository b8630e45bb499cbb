package demo

import (
	"context"
	"strings"
	"testing"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/jobtest"
)

func TestDemoWithoutPackages(t *testing.T) {
	dir := t.TempDir()
	c := jobtest.Catalog(t)
	err := Ingest(context.Background(), c, dir, job.Options{})
	if err == nil || !strings.Contains(err.Error(), "npm ci") || !strings.Contains(err.Error(), dir) {
		t.Error(err)
	}
	if infos, err := c.List(t.Context()); err != nil || len(infos) > 0 {
		t.Error(infos, err)
	}
}
