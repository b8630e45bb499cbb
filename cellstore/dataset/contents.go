package dataset

import (
	"encoding/json"
	"fmt"

	"quadrille/cellstore"
)

var _ cellstore.Published = (*Generation)(nil)

// Contents implements cellstore.Published: it returns Store, and decodes
// Manifest.Meta into meta. The error for a newer layout matches
// cellstore.ErrNewer.
func (g *Generation) Contents(newest int, meta any) (cellstore.Store, error) {
	if err := g.Manifest.CheckSchema(newest); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(g.Manifest.Meta, meta); err != nil {
		return nil, fmt.Errorf("generation %d of %s: the manifest's meta cannot be read, ingest the data again: %w",
			g.Manifest.Generation, g.Manifest.Dataset, err)
	}
	return g.Store, nil
}
