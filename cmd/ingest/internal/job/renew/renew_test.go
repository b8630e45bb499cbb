package renew

import (
	"errors"
	"path/filepath"
	"testing"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/jobtest"
)

// A generation in another program's layout is built again, even with the same inputs.
func TestRenewOtherLayout(t *testing.T) {
	c, rep := jobtest.Catalog(t), &jobtest.Recorder{}
	publish := func(schema int) error {
		d := ask.Airports.Dataset
		d.Schema = schema
		_, err := job.Publish(t.Context(), c, d, job.Options{Reporter: rep}, func(b *dataset.Build, _ *dataset.Manifest) (any, error) {
			return struct{}{}, b.Store().CreateTable(t.Context(), cellstore.Schema{Table: "t", Families: []cellstore.Family{{Name: "f"}}})
		})
		return err
	}
	record := filepath.Join(t.TempDir(), "REFRESHED")
	now := ask.Airports.Schema
	for i, tt := range []struct {
		schema int // of the generation that a build publishes
		built  bool
	}{{now - 1, true}, {now + 1, true}, {now, true}, {now, false}} {
		basis, err := BasisOf(t.Context(), c, ask.Airports.Name, []string{"program"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		built := false
		err = basis.Renew(t.Context(), c, ask.Airports.Name, record, false, rep, func() error {
			built = true
			return publish(tt.schema)
		})
		if err != nil || built != tt.built {
			t.Errorf("run %d: built %v, %v", i, built, err)
		}
	}
	if _, err := c.Rollback(t.Context(), ask.Airports.Name); err != nil {
		t.Fatal(err)
	}
	basis, err := BasisOf(t.Context(), c, ask.Airports.Name, []string{"program"}, nil)
	if err == nil {
		err = basis.Renew(t.Context(), c, ask.Airports.Name, record, false, rep,
			func() error { return errors.New("what was rolled back returns") })
	}
	if err != nil {
		t.Error(err)
	}
}
