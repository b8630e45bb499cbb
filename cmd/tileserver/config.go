package main

import (
	"encoding"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cellstore/hbasestore"
	"quadrille/cmd/internal/bytesize"
	"quadrille/cmd/internal/configfile"
	"quadrille/cmd/internal/hbasedepot"
	"quadrille/cmd/internal/memlimit"
	"quadrille/cmd/internal/variables"
	"quadrille/cmd/internal/version"
	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/web"
)

const description = `Serve map tiles, regions, places and IP locations from a data directory that
the ingest command has filled.

Newly published data is taken into service while the server runs, without a
failed request. Stop it with Ctrl-C or SIGTERM: it finishes what it is doing.

  bin/ingest demo                       # fill ./data once
  bin/tileserver                        # the map is at http://127.0.0.1:8080
  curl 'http://127.0.0.1:8080/regions/at?lat=38.5&lon=-98.3'
  curl 'http://127.0.0.1:8080/places/nearby?lat=48.8566&lon=2.3522'
  curl http://127.0.0.1:8080/ip/8.8.8.8
  curl http://127.0.0.1:8080/status     # what is being served

Every flag can also be given as the environment variable shown with it, or, by
its name without the dashes, in a YAML file that --config names. The command line
wins over the environment, and that over the file. See what is in effect, and
from where, by: bin/tileserver config print

Exit codes: 0 stopped when told to, 1 failed, 2 asked wrongly.`

// config is the command line.
type config struct {
	ConfigFile string           `name:"config" placeholder:"FILE" help:"YAML file of settings, lines such as listen: :8080. An unknown one is an error."`
	Version    kong.VersionFlag `env:"-" help:"Print the version and exit."`

	Data           string   `group:"data" default:"./data" placeholder:"DIR" help:"Directory of the published data sets, ${default} if not given. It may be empty at first."`
	Store          string   `group:"data" placeholder:"URL" help:"Serve from an HBase cluster instead, hbase://host:port[,host:port]/namespace, which ingest --store fills; see docs/hbase.md in the source. --data then holds copies of what lies beside its tables."`
	IPIndex        bool     `group:"data" name:"ip-index" default:"true" negatable:"" help:"Answer IP lookups from the index file in --data, which is fetched from --store, and not from the store. --no-ip-index saves its space on the disk."`
	Require        []string `group:"data" placeholder:"NAME,…" help:"Data sets without which /readyz is 503, such as boundaries,places; repeatable. Without any, those are required that are published."`
	Live           string   `group:"data" placeholder:"DIR" help:"Directory of live collections of points, which clients write over HTTP. It is made if it is not there; one server at a time may have it open. Without it there are none."`
	MaxCollections int      `group:"data" name:"max-collections" default:"1000" placeholder:"N" help:"Live collections that there may be for clients to make another one, ${default} if not given, 0 for any number. Those that are there are served all the same. Each has ten files open."`
	CountryOf      string   `group:"data" name:"country-of" enum:"source,map" default:"source" help:"Who says what country a place is in where the two disagree: its source, or the map, whose borders ingest boundaries --worldview takes from the view of one government. ${default} if not given. Territories that the map draws as a part of a country are in that country by both."`
	BackupDir      string   `group:"data" name:"backup-dir" placeholder:"DIR" help:"Directory in which tileserver live backup may have the server make copies of its live collections, asked at --admin-listen. Without it there are none."`

	ClockSkew time.Duration `group:"data" name:"clock-skew" default:"1m" placeholder:"DURATION" help:"How far, and for how long, the clock of this machine may be wrong, ${default} if not given. Live collections and counts of requests date nothing further ahead of it, follow a larger step ahead only once it has lasted so long, and remove nothing for its age before."`

	Listen         string        `group:"network" default:"127.0.0.1:8080" placeholder:"ADDR" help:"Address and port to listen on, ${default} if not given; :8080 means every interface, port 0 any free port. Or unix:PATH, a socket file whose clients count as 127.0.0.1; or systemd, the one socket of its .socket unit."`
	SocketMode     fileMode      `group:"network" default:"0660" placeholder:"MODE" help:"Permissions of the file of --listen unix:PATH, ${default} if not given."`
	MaxConnections int           `group:"network" default:"8192" placeholder:"N" help:"Connections that may be open at once, 0 for any number; more wait until others end. If not given, ${default}, or less where the server may open few files."`
	ReadTimeout    time.Duration `group:"network" default:"10s" help:"Longest time a client may take to send a request."`
	WriteTimeout   time.Duration `group:"network" default:"60s" help:"Longest time from the end of a request's header to the end of its answer."`
	IdleTimeout    time.Duration `group:"network" default:"120s" help:"How long an unused connection is kept open."`
	DrainTimeout   time.Duration `group:"network" default:"15s" help:"How long to let running requests finish when stopping."`
	DrainDelay     time.Duration `group:"network" default:"0s" help:"How long to go on serving after the signal to stop, with /readyz answering 503, so that load balancers turn elsewhere first."`
	ProxyFrom      []prefix      `group:"network" name:"proxy-protocol-from" placeholder:"CIDR" help:"Load balancers that begin each connection with a PROXY header, version 1 or 2, naming the client; repeatable. From them it is required, from others not looked at."`
	TLSCert        string        `group:"network" name:"tls-cert" placeholder:"FILE" help:"Serve HTTPS, HTTP/2 included, with this certificate chain in PEM. A renewed file is taken into use within seconds."`
	TLSKey         string        `group:"network" name:"tls-key" placeholder:"FILE" help:"The private key that goes with --tls-cert, in PEM."`

	PublicURL    *url.URL `group:"address" name:"public-url" placeholder:"URL" help:"Address clients reach the server under, such as https://maps.example.org, for the absolute addresses in TileJSON. Without it, each request's Host is used."`
	BasePath     string   `group:"address" placeholder:"PATH" help:"Serve everything beneath this path, such as /maps, on a host shared with others. --public-url has it too."`
	TrustedProxy []prefix `group:"address" placeholder:"CIDR" help:"Proxies whose forwarding headers are believed, such as 10.0.0.0/8; repeatable. Without any, nobody's are."`
	Forwarded    string   `group:"address" name:"forwarded-header" enum:"x-forwarded-for,forwarded" default:"x-forwarded-for" help:"The header trusted proxies name the client in: ${enum}. x-forwarded-for, the default, goes with X-Forwarded-Proto and -Host; forwarded is RFC 7239's. The other is never believed."`

	EmptyTile    int    `group:"answers" enum:"204,200,404" default:"204" help:"Status of a vector tile with nothing in it, of ${enum}: clients differ. ${default} if not given."`
	RootGeocoder string `group:"answers" enum:"none,${root_geocoders}" default:"none" help:"Service whose paths are answered as it does at the root too, of ${enum}: with photon, /api and /reverse, with nominatim, /search, /reverse and /lookup. Our own /reverse is then at /geocode/reverse alone, and with nominatim GeoNames' /search at /searchJSON; /status stays ours. ${default} if not given."`
	Glyphs       string `group:"answers" placeholder:"URL" help:"Glyphs that /style.json has names on maps drawn with: an address with {fontstack} and {range} in it, which must have Noto Sans Regular. Without it clients use fonts of their own, as MapLibre GL JS does since 5.11."`
	CacheControl string `group:"answers" default:"public, max-age=300" placeholder:"VALUE" help:"Cache-Control of tiles, regions, places and addresses. Answers can be revalidated at no cost, so short is fine. Default: ${default}"`
	PinTiles     bool   `group:"answers" help:"Let TileJSON name tiles by addresses of their generation, which caches may keep for ever and which are 410 once that is pruned. Clients that read TileJSON only once should not get these; each may ask by pinned=true."`
	CORSOrigin   string `group:"answers" name:"cors-origin" default:"*" placeholder:"ORIGIN,…" help:"Access-Control-Allow-Origin: the web origins whose pages may read the answers, such as https://a.example, joined by commas; * (the default) for all, none for no header."`

	Cache          bytesize.Size `group:"work" default:"256MiB" placeholder:"BYTES" help:"Memory for caches, such as 512MiB or 2GB. If not given, ${default}, or less where the container or the machine has little. Five sixteenths are for blocks of the store, or rows of a remote one, three eighths for finished tiles, a quarter for what is at points, regions and nearest places, and a sixteenth for properties of regions in tiles. Half as much again may be taken by columns of collections of points, once filtered maps or counts need them."`
	MaxConcurrent  int           `group:"work" default:"512" placeholder:"N" help:"Requests that may run at once; more get 503 with Retry-After. If not given, ${default}, or less where there is little memory."`
	RequestTimeout time.Duration `group:"work" default:"10s" help:"Longest time to spend reading the data for one answer."`
	BatchLines     int64         `group:"work" default:"1000000" placeholder:"N" help:"Longest batch, in lines, ${default} if not given."`
	BatchBytes     bytesize.Size `group:"work" default:"256MiB" placeholder:"BYTES" help:"Largest batch, compressed or not, ${default} if not given."`
	BatchTimeout   time.Duration `group:"work" default:"5m" help:"Longest time a client may take to send a batch and to read the answers, or to read all points of an area."`

	AdminListen     string        `group:"watch" placeholder:"ADDR" help:"Another address to listen on, for the operator alone, such as 127.0.0.1:6060: /metrics, profiles at /debug/pprof, /status and the busiest clients at /usage/top. Without it there is none."`
	PublicMetrics   bool          `group:"watch" default:"true" negatable:"" help:"Serve /metrics on --listen too. --no-public-metrics leaves it to --admin-listen."`
	AccessLog       bool          `group:"watch" help:"Log every request, with the address of its client."`
	AccessLogSample int           `group:"watch" default:"1" placeholder:"N" help:"With --access-log: log one of N requests, and all that fail with 500 or more or take longer than --slow-request."`
	SlowRequest     time.Duration `group:"watch" default:"1s" help:"From when on a request is always logged, ${default} if not given."`
	LogFormat       string        `group:"watch" enum:"text,json" default:"text" help:"Form of the log on standard error: ${enum}."`

	Guard guardConfig  `embed:"" group:"clients"`
	Faces kong.Plugins `embed:""` // the flags of faces
	Trace traceConfig  `embed:"" group:"watch"`

	Serve   struct{} `cmd:"" default:"1" help:"Serve; what it does without a command."`
	Command struct {
		Print struct{} `cmd:"" help:"Print every setting and where it comes from, as a file for --config."`
		Check struct{} `cmd:"" help:"Check every setting, the files they name, and the environment, without serving."`
	} `cmd:"" name:"config" help:"Look at the configuration."`
	KeyCommand struct {
		New newKeyCommand `cmd:"" help:"Make a key at random, print it, and add its hash to the file of --keys. It is printed this once: nobody can read it from the file."`
	} `cmd:"" name:"keys" help:"Make keys for clients of a server that runs with --keys FILE."`

	LiveCommand liveCommand `cmd:"" name:"live" help:"Verify, export, repair and back up the live collections of a directory."`

	clock    *cellstore.Clock     // of live collections and counts
	command  string               // what to do: "serve", "config print", …
	settings []configfile.Setting // the settings in effect, for "config print"
	file     *configfile.File     // of --config
	reloads  []func()             // look at files again, on SIGHUP
	faces    []httpapi.Settings   // the settings in Faces
	memory   memory               // the memory that the process may take
}

// flagGroups are the headings of --help, in this order.
var flagGroups = []kong.Group{
	{Key: "data", Title: "Data:"},
	{Key: "network", Title: "Listening and connections:"},
	{Key: "address", Title: "Public address and proxies:"},
	{Key: "answers", Title: "Answers:"},
	{Key: "work", Title: "Memory and work:"},
	{Key: "watch", Title: "Logs, metrics and traces:"},
	{Key: "clients", Title: "Keys and limits of clients:"},
}

// maxHeader bounds the header of a request in bytes, including the first line.
const maxHeader = 16 << 10

// errDone means that the request of the command line, such as --help, has been done.
var errDone = errors.New("done")

// maxClockSkew is the largest --clock-skew.
const maxClockSkew = 24 * time.Hour

type exit int

// newParser makes a parser that stores the command line in c.
func newParser(c *config, stdout, stderr io.Writer) (*kong.Kong, error) {
	c.faces = httpapi.NewSettings()
	for _, f := range c.faces {
		c.Faces = append(c.Faces, f)
	}
	return kong.New(c,
		kong.Name("tileserver"),
		kong.Description(description),
		kong.DefaultEnvars(variables.Prefix),
		configfile.Spellings(),
		kong.Vars{"version": version.String(), "root_geocoders": strings.Join(httpapi.RootGeocoders(), ",")},
		kong.Writers(stdout, stderr),
		kong.ExplicitGroups(flagGroups),
		kong.Help(printHelp),
		kong.ConfigureHelp(kong.HelpOptions{NoAppDescFormat: true, WrapUpperBound: 100}),
		kong.Exit(func(code int) { panic(exit(code)) }),
	)
}

// parse reads the command line and the environment. cfg has the settings of logging even if there
// is an error.
func parse(args []string, stdout, stderr io.Writer) (cfg *config, err error) {
	cfg = &config{}
	parser, err := newParser(cfg, stdout, stderr)
	if err != nil {
		return cfg, err
	}
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(exit); !ok {
				panic(p)
			}
			err = errDone
		}
	}()
	ctx, err := parser.Parse(args)
	if err != nil {
		cfg.LogFormat = cfg.wantedLogFormat(args)
		return cfg, &usageError{err}
	}
	cfg.command = ctx.Command()
	cfg.settings = configfile.Settings(ctx, cfg.file, onlyFlags...)
	if err := configfile.CheckValues(cfg.settings); err != nil {
		return cfg, &usageError{err}
	}
	cfg.fitMemory(memlimit.Detect())
	return cfg, nil
}

// wantedLogFormat returns --log-format of a command line that cannot be parsed, because the error
// is written in the same format.
func (c *config) wantedLogFormat(args []string) string {
	if format := given(args, "log-format"); format != "" {
		return format
	}
	if path := given(args, "config"); c.file == nil && path != "" {
		c.file, _ = configfile.Load(path) // if not, that is the reason
	}
	if inFile := c.file.Argument("", "log-format"); len(inFile) > 0 {
		return inFile[0]
	}
	return ""
}

// given returns the value of a flag on the command line or in the environment, without a parser.
func given(args []string, name string) string {
	value := os.Getenv(variables.Prefix + "_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")))
	for i, arg := range args {
		if v, ok := strings.CutPrefix(arg, "--"+name+"="); ok {
			value = v
		} else if arg == "--"+name && i+1 < len(args) {
			value = args[i+1]
		}
	}
	return value
}

// serverFlags lists the server's flags that also apply to commands with arguments.
var serverFlags = map[string][]string{"keys": {"help", "config", "keys"}, "live": {"help", "config", "admin-listen", "collection", "out"}}

// printHelp omits the other flags of the server from the help of keys and live.
func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	for node := ctx.Selected(); node != nil; node = node.Parent {
		shown, some := serverFlags[node.Name]
		if !some {
			continue
		}
		for _, f := range ctx.Model.Flags {
			f.Hidden = !slices.Contains(shown, f.Name)
		}
	}
	return kong.DefaultHelpPrinter(options, ctx)
}

// onlyFlags lists flags that are not allowed in a configuration file.
var onlyFlags = []string{"config", "version"}

// BeforeResolve is called by the parser once it knows the command line and the
// environment.
func (c *config) BeforeResolve(ctx *kong.Context) error {
	file, err := configfile.Resolve(ctx, onlyFlags...)
	c.file = file
	return err
}

// Validate is called by the parser.
func (c *config) Validate() error {
	if err := c.Guard.Validate(); err != nil {
		return err
	}
	if err := c.Trace.Validate(); err != nil {
		return err
	}
	if err := hbasedepot.Check(c.Store); err != nil {
		return fmt.Errorf("--store: %w", err)
	}
	for _, name := range c.Require {
		if _, ok := ask.FindDataset(name); !ok {
			return fmt.Errorf("--require: there is no data set %.64q; name some of %s, boundaries-NAME or points-NAME", name,
				strings.Join(ask.DatasetNames(ask.Datasets), ", "))
		}
	}
	switch {
	case strings.HasPrefix(c.Live, hbasestore.Scheme+":"):
		return errors.New("--live must be a directory: live collections are kept on this machine, not in HBase")
	case c.MaxConcurrent < 1:
		return errors.New("--max-concurrent must be at least 1")
	case c.MaxConnections < 0, c.MaxCollections < 0:
		return errors.New("--max-connections and --max-collections must not be negative; 0 is for any number")
	case c.ClockSkew < time.Second || c.ClockSkew > maxClockSkew:
		return errors.New("--clock-skew must be from 1s to 24h, such as 1m")
	case c.DrainDelay < 0:
		return errors.New("--drain-delay must not be negative")
	case !web.ValidBasePath(strings.TrimRight(c.BasePath, "/")):
		return errors.New("--base-path must be a path of letters, digits and -._~, such as /maps")
	case c.Listen == unixPrefix:
		return errors.New("--listen unix: needs the path of a socket, such as unix:/run/quadrille.sock")
	case c.AccessLogSample < 1 || c.SlowRequest <= 0:
		return errors.New("--access-log-sample must be at least 1 and --slow-request positive, such as 1s")
	case c.Cache < 1<<20:
		return errors.New("--cache must be at least 1MiB")
	case c.BatchLines < 1 || c.BatchBytes < 1:
		return errors.New("--batch-lines and --batch-bytes must be at least 1")
	case (c.TLSCert == "") != (c.TLSKey == ""):
		return errors.New("--tls-cert and --tls-key go together: give both, or neither")
	case c.Glyphs != "" && (!strings.Contains(c.Glyphs, "{fontstack}") || !strings.Contains(c.Glyphs, "{range}")):
		return errors.New("--glyphs must have {fontstack} and {range} in it, such as https://fonts.example.org/{fontstack}/{range}.pbf")
	}
	if !strings.HasPrefix(c.Listen, unixPrefix) && c.Listen != inherited {
		if err := checkAddress(c.Listen); err != nil {
			return fmt.Errorf("--listen %w; or give unix: and the path of a socket, or systemd", err)
		}
	}
	if c.AdminListen != "" {
		if err := checkAddress(c.AdminListen); err != nil {
			return fmt.Errorf("--admin-listen %w", err)
		}
	}
	if err := web.CheckCacheControl(c.CacheControl); err != nil {
		return fmt.Errorf("--cache-control: %w", err)
	}
	if err := web.CheckOrigins(c.CORSOrigin); err != nil {
		return fmt.Errorf("--cors-origin: %w", err)
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"request", c.RequestTimeout},
		{"read", c.ReadTimeout},
		{"write", c.WriteTimeout},
		{"idle", c.IdleTimeout},
		{"drain", c.DrainTimeout},
		{"batch", c.BatchTimeout},
	} {
		if d.value <= 0 {
			return fmt.Errorf("--%s-timeout must be positive, such as 10s", d.name)
		}
	}
	if u := c.PublicURL; u != nil {
		if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
			return errors.New("--public-url must be an absolute http or https address without a query, such as https://maps.example.org")
		}
	}
	return nil
}

// responseBytes returns the share of the cache for finished tiles. regionBytes is that for the regions at points,
// nearestBytes that for what is nearest to points, fieldBytes that for properties of
// regions in tiles, and storeBytes that for blocks of the store.
func (c *config) responseBytes() int64 { return int64(c.Cache) * 3 / 8 }
func (c *config) regionBytes() int64   { return int64(c.Cache) * 3 / 16 }
func (c *config) nearestBytes() int64  { return int64(c.Cache) / 16 }
func (c *config) fieldBytes() int64    { return int64(c.Cache) / 16 }
func (c *config) storeBytes() int64 {
	return int64(c.Cache) - c.responseBytes() - c.regionBytes() - c.nearestBytes() - c.fieldBytes()
}

// columnBytes bounds the columns of points, which are taken beside --cache when they are needed.
func (c *config) columnBytes() int64 { return int64(c.Cache) / 2 }

// streamBytes returns the memory of all tables that are being written, beside the cache and smaller where
// that is. Some lists of few columns always fit.
func (c *config) streamBytes() int64 { return min(max(int64(c.Cache)/4, 8<<20), 64<<20) }

func (c *config) publicURL() string {
	if c.PublicURL == nil {
		return ""
	}
	return c.PublicURL.String()
}

func (c *config) trusted() []netip.Prefix {
	list := make([]netip.Prefix, len(c.TrustedProxy))
	for i, p := range c.TrustedProxy {
		list[i] = netip.Prefix(p)
	}
	return list
}

func (c *config) forwardedHeader() web.ForwardedHeader {
	if c.Forwarded == "forwarded" {
		return web.Forwarded
	}
	return web.XForwardedFor
}

func (c *config) handler(w io.Writer) slog.Handler {
	if c.LogFormat == "json" {
		return slog.NewJSONHandler(w, nil)
	}
	return slog.NewTextHandler(w, nil)
}

// url returns the address of a listener for a browser on this machine, or the
// public one that the operator gave.
func (c *config) url(addr net.Addr) string {
	if c.PublicURL != nil {
		return c.PublicURL.String()
	}
	if addr.Network() == "unix" {
		return unixPrefix + addr.String()
	}
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return addr.String()
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		host = "localhost"
	}
	scheme := "http"
	if c.TLSCert != "" {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, port) + strings.TrimRight(c.BasePath, "/")
}

// prefix is a network, or one address.
type prefix netip.Prefix

var _ encoding.TextUnmarshaler = (*prefix)(nil)

func (p *prefix) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	if a, err := netip.ParseAddr(s); err == nil && a.Zone() == "" {
		a = a.Unmap()
		*p = prefix(netip.PrefixFrom(a, a.BitLen()))
		return nil
	}
	n, err := netip.ParsePrefix(s)
	if err != nil {
		return fmt.Errorf("%q is not a network; give one like 10.0.0.0/8 or 2001:db8::/32", s)
	}
	if n.Addr().Is4In6() {
		// Client addresses are compared in their IPv4 form.
		if n.Bits() < 96 {
			return fmt.Errorf("%q holds more than IPv4 addresses; write it as an IPv4 network", s)
		}
		n = netip.PrefixFrom(n.Addr().Unmap(), n.Bits()-96)
	}
	*p = prefix(n.Masked())
	return nil
}

// MarshalText is the inverse of UnmarshalText.
func (p prefix) MarshalText() ([]byte, error) { return netip.Prefix(p).MarshalText() }
