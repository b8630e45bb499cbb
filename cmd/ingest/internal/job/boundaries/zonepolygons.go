package boundaries

import (
	"context"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/zonefinder"
)

// IngestZones publishes the zones in a release of timezone-boundary-builder as the
// layer timezone, beside the layers that are published.
func IngestZones(ctx context.Context, c *dataset.Catalog, in job.Input, o job.Options) (dataset.Manifest, error) {
	// The id property is what tells such a release from areas of one offset.
	inputs, err := Keep(ctx, c, []Input{{Type: zonefinder.Layer, Input: in, IDProperty: "tzid"}})
	if err != nil {
		return dataset.Manifest{}, err
	}
	return Ingest(ctx, c, inputs, o)
}
