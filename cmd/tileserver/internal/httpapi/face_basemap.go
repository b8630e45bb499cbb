package httpapi

import (
	"context"
	"fmt"
	"time"

	"quadrille/cmd/tileserver/internal/archive"
	"quadrille/cmd/tileserver/internal/basemap"
	"quadrille/cmd/tileserver/internal/basemaps"
)

// baseMaps has the flags for base maps, and the archives that they name.
type baseMaps struct {
	Files []string `group:"data" name:"basemap" sep:"none" placeholder:"[NAME=]FILE" help:"Other people's map to show under the borders, a PMTiles archive (version 3) or an MBTiles database on this machine; repeatable. It is served at /basemap/NAME, whose name is that of the file if none is given. When the file is replaced by renaming, the new one is in service within seconds; see docs/maps.md in the source."`

	names []archive.NamedFile
	set   *archive.Set
}

func init() {
	register(Face{
		Name: "basemap", Order: 20, Kinds: basemap.Kinds, Metrics: basemap.MetricDescs, Settings: func() Settings { return &baseMaps{} },
		New: func(p *Parts) Handlers {
			return basemap.New(p.Kit, basemap.Config{
				Maps:       flags[baseMaps](p.Config).set,
				EmptyTile:  p.Config.EmptyTile,
				CacheBytes: p.Config.baseMapBytes(),
			})
		},
	})
}

// Validate reads the names.
func (s *baseMaps) Validate() error {
	for _, file := range s.Files {
		n, err := archive.ParseName(file)
		if err != nil {
			return fmt.Errorf("--basemap: %w", err)
		}
		s.names = append(s.names, n)
	}
	return nil
}

// Open takes the maps into service. Directories of archives use a share of the cache for finished
// tiles.
func (s *baseMaps) Open(ctx context.Context, in *Process) (err error) {
	directories := int64(0)
	if len(s.names) > 0 {
		directories = in.CacheBytes / 8
	}
	if s.set, err = archive.Serve(ctx, s.names, directories, in.Log); err != nil {
		return fmt.Errorf("--basemap: %w", err)
	}
	in.Config.BaseMaps, in.Config.ResponseCacheBytes = s.shown, in.Config.ResponseCacheBytes-directories
	in.PollFiles, in.OnClose = append(in.PollFiles, func() { s.set.CheckFiles(ctx) }), append(in.OnClose, s.set.Close)
	return nil
}

// shown returns the maps in the form that other faces use.
func (s *baseMaps) shown() (all []basemaps.Map) {
	for _, l := range s.set.Maps() {
		st := l.Status()
		a := st.Archive
		m := basemaps.Map{
			ID:          a.ID,
			Name:        st.Name,
			State:       st.State,
			Title:       a.Title,
			Format:      a.Format.String(),
			TileCount:   a.TileCount,
			MinZoom:     a.MinZoom,
			MaxZoom:     a.MaxZoom,
			TileSize:    a.TileSize,
			Bounds:      a.Bounds,
			Bytes:       a.Size,
			Modified:    a.Modified.UTC().Truncate(time.Second),
			Since:       st.Since.UTC().Truncate(time.Second),
			Attribution: a.Attribution,
		}
		for _, l := range a.Layers {
			m.Layers = append(m.Layers, basemaps.Layer{ID: l.ID, MinZoom: l.MinZoom})
		}
		all = append(all, m)
	}
	return all
}
