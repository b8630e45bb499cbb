package job

import (
	"context"

	"quadrille/cellstore/dataset"
)

// ZonePolygons publishes the zones in a release of timezone-boundary-builder as the
// layer timezone, beside the layers that are published.
func ZonePolygons(ctx context.Context, c *dataset.Catalog, in Input, o Options) (dataset.Manifest, error) {
	// The id property is what tells such a release from areas of one offset.
	inputs, err := Keep(ctx, c, []LayerInput{{Type: zoneType, Input: in, IDProperty: "tzid"}})
	if err != nil {
		return dataset.Manifest{}, err
	}
	return Boundaries(ctx, c, inputs, o)
}
