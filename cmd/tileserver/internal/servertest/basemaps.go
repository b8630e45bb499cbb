package servertest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image/color"
	"path/filepath"
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/archive"
	"quadrille/cmd/tileserver/internal/archive/archivetest"
	"quadrille/cmd/tileserver/internal/httpapi"
)

// baseMapWorld serves base maps and boundaries.
type baseMapWorld struct {
	*Server
	Dir  string
	Look func() // looks at the files again
}

// CoastTile is the vector tile that its maps show, large enough to be packed.
var CoastTile = archivetest.Vector(strings.Repeat("coast", 20))

var ArchiveCodings = map[string]byte{
	"plain": archivetest.Uncompressed,
	"gzip":  archivetest.Gzip,
	"br":    archivetest.Brotli,
	"zstd":  archivetest.Zstd,
}

const hostileText = `<img src=x onerror=alert(1)>&<a href='javascript:alert(1)'>me</a> <a href="https://example.org/?a=1&b=<">them</a>` + "\x00\u202e"

// NewBaseMaps serves these base maps: a vector map in every coding, with the large tile 1/0/0; a
// map of pictures; and a map with internal damage.
func NewBaseMaps(t testing.TB, change func(*httpapi.Config)) *baseMapWorld {
	t.Helper()
	dir := t.TempDir()
	var names []string
	add := func(name, file string) {
		names = append(names, name+"="+filepath.Join(dir, file))
	}
	text, err := json.Marshal(hostileText)
	if err != nil {
		t.Fatal(err)
	}
	metadata := fmt.Sprintf(`{"name":%s,"description":%s,"attribution":%s,"vector_layers":[{"id":"water","description":%s,"fields":{"<b>":%s}},{"id":"roads","minzoom":1}]}`, text, text, text, text, text)
	for _, coding := range []string{"plain", "gzip", "br", "zstd"} {
		p := archivetest.PMTiles{Internal: ArchiveCodings[coding], Tiles: ArchiveCodings[coding], Type: 1, Metadata: metadata, Leaf: 2}
		large := archivetest.Pack(p.Tiles, bytes.Repeat(CoastTile, 50))
		archivetest.Write(t, filepath.Join(dir, coding+".pmtiles"), p.Bytes([]archivetest.Tile{
			{Data: archivetest.Pack(p.Tiles, CoastTile)},
			{Z: 1, Data: large},
			{Z: 1, X: 1, Y: 1, Data: archivetest.Pack(p.Tiles, CoastTile)},
		}))
		add(coding, coding+".pmtiles")
	}
	red := archivetest.Picture(256, color.RGBA{R: 255, A: 255})
	archivetest.WriteMBTiles(t, filepath.Join(dir, "red.mbtiles"), []archivetest.Tile{{Data: red}}, archivetest.MBTilesSchema,
		`INSERT INTO metadata VALUES ('format', 'png')`)
	add("red", "red.mbtiles")
	bomb := archivetest.Pack(archivetest.Gzip, make([]byte, archive.MaxTileBytes+1))
	archivetest.WriteMBTiles(t, filepath.Join(dir, "bad.mbtiles"), []archivetest.Tile{
		{Data: CoastTile},
		{Z: 1, Data: bomb},
		{Z: 1, X: 1, Data: []byte("\x1f\x8bnot")},
	},
		archivetest.MBTilesSchema, `INSERT INTO metadata VALUES ('format', 'pbf')`, `CREATE TRIGGER t AFTER INSERT ON tiles BEGIN SELECT 1; END`)
	add("bad", "bad.mbtiles")
	w := &baseMapWorld{Dir: dir}
	w.Server = New(t, func(c *httpapi.Config) {
		w.Look = SetFlag(t, c, "basemap", names...)
		WithMetrics(c)
		if change != nil {
			change(c)
		}
	}, DefaultDatasets...)
	return w
}

// OpenDearMaps adds a map to a configuration. It has one tile that is large in every coding, and a
// small tile.
func OpenDearMaps(t testing.TB, cfg *httpapi.Config) {
	large := bytes.Clone(CoastTile)
	for i := uint64(1); len(large) < 200<<10; i++ {
		large = binary.LittleEndian.AppendUint64(large, i*0x9E3779B97F4A7C15)
	}
	p := archivetest.PMTiles{Internal: archivetest.Gzip, Tiles: archivetest.Gzip, Type: 1}
	path := archivetest.Write(t, filepath.Join(t.TempDir(), "dear.pmtiles"), p.Bytes([]archivetest.Tile{
		{Data: archivetest.Pack(archivetest.Gzip, large)}, {Z: 1, Data: archivetest.Pack(archivetest.Gzip, CoastTile)},
	}))
	SetFlag(t, cfg, "basemap", "dear="+path)
}
