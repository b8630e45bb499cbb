// Package basemap serves the tiles of third-party archives unchanged, and the TileJSON that
// describes them.
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

// Config configures how base maps are served.
type Config struct {
	Maps *archive.Set
	// EmptyTile is the status of a tile that an archive does not have: 204, 404, or 200 with no
	// bytes. An empty body is not a valid picture, so 204 replaces 200 for pictures.
	EmptyTile int
	// CacheBytes bounds the cache of tiles. 0 disables the cache.
	CacheBytes int64
}

// Handlers answers with base maps.
type Handlers struct {
	*web.Kit
	Config
	kept *web.ResponseCache[tileKey]
}

// New makes the handlers.
func New(k *web.Kit, cfg Config) *Handlers {
	s := &Handlers{Kit: k, Config: cfg}
	if len(cfg.Maps.Maps()) > 0 {
		s.kept = web.NewResponseCache[tileKey](k, "basemaps", cfg.CacheBytes)
		s.kept.Foreign = true
	}
	k.Collect(s.collect)
	return s
}

var errUnknown = errors.New("no such base map")

// Kinds are the kinds of errors of base maps.
var Kinds = []web.ProblemKind{
	{Err: errUnknown, Status: http.StatusNotFound, Type: "unknown-basemap", Title: "There is no such base map",
		Detail: "Use one of the base maps that /status lists."},
	{Err: archive.ErrChanged,
		Status: http.StatusServiceUnavailable,
		Type:   "basemap-changing",
		Title:  "The file of the base map is being changed",
		Detail: "Ask again in a moment; the operator finds more in the log and in /status.", Retry: true},
	{Err: archive.ErrDamaged, Status: http.StatusInternalServerError, Type: "basemap-damaged", Title: "The base map is damaged",
		Detail: "Tell the operator, who can replace its file; the reason is in the server's log under the request_id of this answer."},
}

// tileKey identifies a finished tile. A replaced file has another archive number.
type tileKey struct {
	archive uint64
	tile    uint64 // packed with its zoom
	coding  web.Coding
}

// Hash returns a number that differs for most keys.
func (k tileKey) Hash() uint64 { return k.tile ^ k.archive ^ uint64(k.coding)<<16 }

// ExtraBytes returns 0, because the key has no memory outside the struct.
func (tileKey) ExtraBytes() int { return 0 }

// These are formats that only archives have.
var (
	formJPEG = web.NewFormat(web.Media{Name: "jpeg", Type: "image/jpeg", Picture: true})
	formWebP = web.NewFormat(web.Media{Name: "webp", Type: "image/webp", Picture: true})
	formAVIF = web.NewFormat(web.Media{Name: "avif", Type: "image/avif", Picture: true})
)

// form has the media type of a format, and the extensions in its URLs. TileJSON names the first
// extension.
type form struct {
	web.Format
	extensions []string
}

var forms = [...]form{
	archive.MVT:  {web.FormatMVT, []string{"mvt", "pbf"}},
	archive.MLT:  {web.FormatMLT, []string{"mlt"}},
	archive.PNG:  {web.FormatPNG, []string{"png"}},
	archive.JPEG: {formJPEG, []string{"jpg", "jpeg"}},
	archive.WebP: {formWebP, []string{"webp"}},
	archive.AVIF: {formAVIF, []string{"avif"}},
}

// codings maps the codings of archives to the codings of HTTP that clients know.
var codings = [...]web.Coding{
	archive.Gzip:   web.CodingNamed("gzip"),
	archive.Brotli: web.CodingNamed("br"),
	archive.Zstd:   web.CodingNamed("zstd"),
	archive.Zlib:   web.Identity,
}

// getTile answers GET /basemap/{name}/{z}/{x}/{y}.{ext}. ext must match the format of the archive's
// tiles.
func (s *Handlers) getTile(c echo.Context, _ *endpoint.Params) error {
	values, err := endpoint.PathParams(c)
	if err != nil {
		return err
	}
	live := s.Maps.Map(values[0])
	if live == nil {
		return s.unknown()
	}
	for range 3 { // the archive may be replaced while it is read
		if err = s.sendTile(c, live, values); !errors.Is(err, archive.ErrClosed) {
			break
		}
	}
	return err
}

// unknown returns the error for an unknown name. It lists the base maps.
func (s *Handlers) unknown() error {
	var names []string
	for _, l := range s.Maps.Maps() {
		names = append(names, l.NamedFile.Name)
	}
	if names == nil {
		return endpoint.Refuse(errUnknown, "name", "This server has no base maps: its operator adds one by --basemap.")
	}
	return endpoint.Refuse(errUnknown, "name", "Use one of the base maps of this server: "+strings.Join(names, ", ")+".")
}

func (s *Handlers) sendTile(c echo.Context, live *archive.Live, values []string) error {
	r, a := c.Request(), live.Current()
	f := &forms[a.Format]
	y, extension, _ := strings.Cut(values[3], ".")
	if !slices.Contains(f.extensions, extension) {
		return endpoint.Refuse(web.ErrFormat, "", "End the address of a tile of this base map in ."+f.extensions[0]+".")
	}
	t, err := endpoint.ParseGridTile(values[1], values[2], y)
	if err != nil {
		return err
	}
	key := tileKey{archive: a.ID, tile: uint64(t.Z)<<58 | t.Packed()}
	if !f.IsPicture() {
		if key.coding = codings[a.Coding]; key.coding == web.Identity || !web.TakesCoding(r, key.coding) {
			key.coding = web.AcceptedCacheCoding(r)
		}
	}
	tag := s.ETagSeed.Number(a.ID).Number(key.tile).Number(uint64(key.coding)).Tag()
	answer := web.Answer{Format: f.Format, Tag: tag, Coding: key.coding, CacheControl: s.CacheControl, EmptyStatus: s.EmptyTile}
	return s.kept.Send(c, key, &answer, nil, func(ctx context.Context, out *web.Scratch) (*web.CachedResponse, error) {
		return s.makeTile(ctx, live, a, t, &answer)
	})
}

// makeTile reads a tile.
func (s *Handlers) makeTile(ctx context.Context, live *archive.Live, a *archive.Archive, t quadkey.Tile,
	answer *web.Answer) (res *web.CachedResponse, err error) {
	data, packed, ok, err := a.Tile(ctx, t)
	if err != nil {
		live.ReadFailed(a, err)
		return nil, err
	}
	if !ok {
		return web.NewCachedResponse(answer, nil), nil
	}
	if packed != archive.Uncompressed && codings[packed] == answer.Coding && answer.Coding != web.Identity {
		return web.NewPackedResponse(answer, data), nil
	}
	// Unpacking and packing a large tile needs much processor time.
	dear := len(data) > lightTile && (packed != archive.Uncompressed || answer.Coding != web.Identity)
	err = s.RunHeavy(ctx, dear, func() error {
		plain, err := archive.Unpack(data, packed, archive.MaxTileBytes)
		if err != nil {
			live.ReadFailed(a, err)
			return err
		}
		res = web.NewCachedResponse(answer, plain)
		return nil
	})
	return res, err
}

// lightTile is the greatest size in bytes of a stored tile that is unpacked and repacked without a
// place for heavy requests.
const lightTile = 64 << 10
