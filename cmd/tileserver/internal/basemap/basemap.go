// Package basemap answers with the tiles of other people's archives, as they are stored, and
// with the TileJSON that describes them.
package basemap

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/archive"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/quadkey"
)

// Config says how base maps are served.
type Config struct {
	Maps *archive.Set
	// EmptyTile is the status of a tile that an archive does not have: 204, 200 with no
	// bytes, which for a picture is 204, or 404.
	EmptyTile int
	// CacheBytes bounds the cache of tiles. 0 keeps none.
	CacheBytes int64
}

// Room answers with base maps.
type Room struct {
	*web.Kit
	Config
	responses *web.ResponseCache[tileKey]
}

// New makes the room.
func New(k *web.Kit, cfg Config) *Room {
	s := &Room{Kit: k, Config: cfg, responses: web.NewResponseCache[tileKey](cfg.CacheBytes)}
	if len(cfg.Maps.Maps()) > 0 {
		web.WatchCache(k, "basemaps", s.responses)
	}
	k.Collect(s.collect)
	return s
}

var (
	errUnknown = errors.New("no such base map")
	errEmpty   = errors.New("the base map has no such tile")
)

// Kinds are the errors of this room.
var Kinds = []web.Kind{
	{Err: errUnknown, Status: http.StatusNotFound, Type: "unknown-basemap", Title: "There is no such base map",
		Detail: "Use one of the base maps that /status lists."},
	{Err: errEmpty, Status: http.StatusNotFound, Type: "tile-empty", Title: "There is nothing in this tile",
		Detail: "Show nothing here; the server can answer 204 or an empty 200 instead, by --empty-tile."},
	{Err: archive.ErrChanged, Status: http.StatusServiceUnavailable, Type: "basemap-changing", Title: "The file of the base map is being changed",
		Detail: "Ask again in a moment; the operator finds more in the log and in /status.", Retry: true},
	{Err: archive.ErrDamaged, Status: http.StatusInternalServerError, Type: "basemap-damaged", Title: "The base map is damaged",
		Detail: "Tell the operator, who can replace its file; the reason is in the server's log under the request_id of this answer."},
}

// tileKey identifies a finished tile. Another file is another archive.
type tileKey struct {
	archive uint64
	tile    uint64 // packed with its zoom
	coding  web.Coding
}

// Spread is a number that differs for most keys.
func (k tileKey) Spread() uint64 { return k.tile ^ k.archive ^ uint64(k.coding)<<16 }

// Extra is 0: the key refers to nothing.
func (tileKey) Extra() int { return 0 }

// form is how a format is answered, and the extensions of its addresses, the first of which
// TileJSON names.
type form struct {
	web.Form
	extensions []string
}

var forms = [...]form{
	archive.MVT:  {web.FormMVT, []string{"mvt", "pbf"}},
	archive.MLT:  {web.FormMLT, []string{"mlt"}},
	archive.PNG:  {web.FormPNG, []string{"png"}},
	archive.JPEG: {web.FormJPEG, []string{"jpg", "jpeg"}},
	archive.WebP: {web.FormWebP, []string{"webp"}},
	archive.AVIF: {web.FormAVIF, []string{"avif"}},
}

// codings are those of archives that clients know.
var codings = [...]web.Coding{archive.Gzip: web.Gzipped, archive.Brotli: web.Brotlied, archive.Zstd: web.Zstded, archive.Zlib: web.Identity}

// getTile answers GET /basemap/{name}/{z}/{x}/{y}.{ext}, where ext is that of what the
// archive holds.
func (s *Room) getTile(c echo.Context, _ *endpoint.Params) error {
	values, err := endpoint.PathParams(c)
	if err != nil {
		return err
	}
	live := s.Maps.Map(values[0])
	if live == nil {
		return s.unknown()
	}
	for range 3 { // another archive may come while one is read
		if err = s.sendTile(c, live, values); !errors.Is(err, archive.ErrClosed) {
			break
		}
	}
	return err
}

// unknown says which base maps there are.
func (s *Room) unknown() error {
	var names []string
	for _, l := range s.Maps.Maps() {
		names = append(names, l.Name.Name)
	}
	if names == nil {
		return endpoint.Refuse(errUnknown, "name", "This server has no base maps: its operator adds one by --basemap.")
	}
	return endpoint.Refuse(errUnknown, "name", "Use one of the base maps of this server: "+strings.Join(names, ", ")+".")
}

func (s *Room) sendTile(c echo.Context, live *archive.Live, values []string) error {
	r, a := c.Request(), live.Current()
	f := &forms[a.Format]
	y, extension, _ := strings.Cut(values[3], ".")
	if !slices.Contains(f.extensions, extension) {
		return endpoint.Refuse(web.ErrFormat, "", "End the address of a tile of this base map in ."+f.extensions[0]+".")
	}
	t, err := endpoint.GridTile(values[1], values[2], y)
	if err != nil {
		return err
	}
	key := tileKey{archive: a.ID, tile: uint64(t.Z)<<58 | t.Packed()}
	if !f.Picture() {
		if key.coding = codings[a.Coding]; key.coding == web.Identity || !web.TakesCoding(r, key.coding) {
			key.coding = web.AcceptedKept(r)
		}
	}
	absent := s.EmptyTile == http.StatusNotFound
	etag := s.TagStart.Number(a.ID).Number(key.tile).Number(uint64(key.coding)).Tag()
	same := web.Answer{Form: f.Form, Tag: &etag, Cache: s.CacheControl}
	if web.Matches(r, &etag, false) {
		return s.NotModified(c, same)
	}
	res := s.responses.Get(key)
	s.TraceCache(r.Context(), res != nil)
	if res == nil {
		if res, err = s.makeTile(s.As(r.Context(), c), live, a, t, key, f.Form, etag); err != nil {
			return err
		}
	}
	c.Response().Header()["X-Content-Type-Options"] = web.NoSniff
	switch {
	case res.Body == nil && absent:
		return errEmpty
	case web.Matches(r, &etag, true):
		return s.NotModified(c, same) // "*": by now it is known to exist
	case res.Body == nil && s.EmptyTile == http.StatusOK && !f.Picture():
		return s.SendEmpty(c, res, s.CacheControl, http.StatusOK)
	case res.Body == nil:
		return s.SendEmpty(c, res, s.CacheControl, http.StatusNoContent)
	}
	return s.SendKept(c, res, s.CacheControl)
}

// makeTile reads a tile and keeps it. Requests for the same tile share one reading, so it
// goes on when the client that caused it leaves.
func (s *Room) makeTile(ctx context.Context, live *archive.Live, a *archive.Archive, t quadkey.Tile, key tileKey, f web.Form, etag web.Tag) (*web.Finished, error) {
	wait, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	return s.responses.Do(wait, key, func() (*web.Finished, error) {
		read, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Timeout)
		defer cancel()
		read, end := s.TraceRead(read)
		defer end()
		data, packed, ok, err := a.Tile(read, t)
		if err != nil {
			live.ReadFailed(a, err)
			return nil, err
		}
		if !ok {
			return web.Finish(nil, f, key.coding, &etag), nil
		}
		if packed != archive.Plain && codings[packed] == key.coding && key.coding != web.Identity {
			return web.FinishStored(data, f, key.coding, &etag), nil
		}
		// Unpacking and packing a large tile takes a processor for long.
		if len(data) > lightTile && (packed != archive.Plain || key.coding != web.Identity) {
			free, err := s.BeginHeavy(read)
			if err != nil {
				return nil, err
			}
			defer free()
		}
		plain, err := archive.Unpack(data, packed, archive.MaxTile)
		if err != nil {
			live.ReadFailed(a, err)
			return nil, err
		}
		return web.Finish(plain, f, key.coding, &etag), nil
	})
}

// lightTile is the largest stored tile in bytes that is packed anew without a heavy place.
const lightTile = 64 << 10
