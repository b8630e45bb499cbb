package job

import (
	"context"
	"strings"
	"testing"
)

func TestDemoWithoutPackages(t *testing.T) {
	dir := t.TempDir()
	c := newCatalog(t)
	err := Demo(context.Background(), c, dir, Options{})
	if err == nil || !strings.Contains(err.Error(), "npm ci") || !strings.Contains(err.Error(), dir) {
		t.Error(err)
	}
	if infos, err := c.List(t.Context()); err != nil || len(infos) > 0 {
		t.Error(infos, err)
	}
}
