package join

import (
	"net/http"
	"strconv"
	"strings"

	"quadrille/ask/enrich"
	"quadrille/cmd/tileserver/internal/endpoint"
)

const (
	maxNames   = 20   // columns, types or layers in a parameter
	maxName    = 200  // bytes of a name of a column
	maxNearest = 1000 // bytes
)

var (
	regionsParam = endpoint.List(enrich.RegionsMember, maxNames, "Adds name and id of the regions of these types, such as "+
		"`country` and `country_id`; `all` is every type. That is also done if nothing is asked for. Where regions overlap, a "+
		"cell has all of them, the smallest first, separated by semicolons.").WithExample([]string{"country"})
	timeZoneParam = endpoint.Flag(enrich.TimeZoneMember, "Adds `timezone` and its present `utc_offset`.")
	timeParam     = text(enrich.TimeMember, maxName, "Adds `timezone` and its `utc_offset` at the time in this column, "+
		"such as 2026-01-31T12:00:00Z.")
	nearestParam = endpoint.New(enrich.NearestMember, "Adds properties of the nearest feature of a layer, such as "+
		"`airport:iata,distance_m`; without fields they are `name` and `distance_m`. A layer is `place`, `airport`, `station`, or "+
		"any that is published; `|` stands between several. The columns are called `LAYER_FIELD`.",
		endpoint.Schema{"type": "string", "minLength": 1, "maxLength": maxNearest}, readNearest).WithExample("airport:iata,distance_m")
	reverseParam = endpoint.Flag(enrich.ReverseMember, "Adds `address`: the place that describes the position, with the regions around it.")
	ipParam      = text(enrich.IPMember, maxNearest, "Adds what is known of the IP address in a column, such as "+
		"`client:country,city,asn`, which are added without fields. The columns are called `ip_FIELD`.")
	geocodeParam = text(enrich.GeocodeMember, maxNearest, "Adds `geocode_label`, `geocode_lat` and `geocode_lon` of what the text in a "+
		"column means, or in several, such as `city,country`. Rows without a position take this one.")
	latParam    = text("lat", maxName, "The column of latitudes, in degrees. Left out, its name tells it, such as `lat`, `latitude` or `y`.")
	lonParam    = text("lon", maxName, "The column of longitudes, in degrees.")
	prefixParam = text("prefix", 60, "What the names of the added columns begin with.")
	params      = []endpoint.Param{
		regionsParam, timeZoneParam, timeParam, nearestParam, reverseParam, ipParam, geocodeParam, latParam, lonParam, prefixParam,
	}
	failures = []string{"bad-parameter", "dataset-missing"}
)

// text declares a text that is not empty.
func text(name string, max int, doc string) *endpoint.Value[string] {
	schema := endpoint.Schema{"type": "string", "minLength": 1, "maxLength": max}
	return endpoint.New(name, doc, schema, func(q *endpoint.Params, name string) string {
		value := q.Text(name, max)
		if value == "" {
			q.Refuse(name, "Give "+name+" a text, or leave it out.")
		}
		return value
	})
}

func readNearest(q *endpoint.Params, name string) []string {
	list := enrich.SplitNearest(q.Text(name, maxNearest))
	if len(list) > maxNames {
		q.Refuse(name, "Name at most "+strconv.Itoa(maxNames)+" layers.")
	}
	for i, text := range list {
		if list[i] = strings.TrimSpace(text); list[i] == "" {
			q.Refuse(name, "Name a layer before and after each |, such as airport:iata|place:name.")
		}
	}
	return list
}

// Columns describes the columns that are added.
type Columns struct {
	_             struct{} `name:"AddedColumns" doc:"What is added to each row."`
	Columns       []Column `json:"columns"`
	Error         string   `json:"error" doc:"The column that says why cells of a row are empty."`
	Inputs        []string `json:"inputs,omitempty" doc:"Columns that the table must have beside positions."`
	NeedsPosition bool     `json:"needs_position" doc:"Whether the table must have columns of positions."`
	MaxRows       int64    `json:"max_rows" doc:"Most rows of a table."`
}

// Column is a column that is added.
type Column struct {
	_    struct{} `name:"AddedColumn"`
	Name string   `json:"name"`
	Raw  bool     `json:"raw" doc:"Whether the values are numbers or booleans, and not texts."`
}

// Endpoints returns the endpoints of this package.
func (s *Handlers) Endpoints() []endpoint.Endpoint {
	return []endpoint.Endpoint{
		{
			Path: "/join", Methods: []string{http.MethodPost},
			ID: "join", Tag: "points", Rank: 1,
			Summary: "A table of points with columns added",
			Doc: "A table in the body comes back with more columns. It is CSV with a header, with commas, semicolons, tabs or vertical bars " +
				"between its cells, or a JSON object in each line, which may be a Feature with a Point. Rows stay in their order, and " +
				"all are answered by the same moment of the data. Nothing is kept. A table has 100,000 rows at most: `ingest enrich` " +
				"takes larger ones, from a file. Rows come back while further ones are sent: read while writing. A row without a " +
				"usable position, address or text has empty cells, and the column `error` says why. What ends the answer early is " +
				"the `error` of a last row that has nothing else. In JSON, added members without a value are null, and a line that " +
				"is no object gets an error of its own.",
			Params: params, Handle: s.postJoin, Cost: endpoint.Streamed,
			Body: true, BodyRequired: true,
			BodyContent: endpoint.Content{"text/csv": endpoint.Schema{"type": "string"}, "application/x-ndjson": endpoint.Schema{"type": "string"}},
			Answers:     endpoint.Content{"text/csv": endpoint.Schema{"type": "string"}, "application/x-ndjson": endpoint.Schema{"type": "string"}},
			CachePolicy: endpoint.CacheNever,
			Problems: append([]string{
				"bad-line", "batch-too-long", "batch-timeout", "unsupported-coding", "unsupported-type", "bad-body",
			}, failures...),
			Example: endpoint.Example{Request: "/join?regions=country", Body: "name,lat,lon\nhome,47.37,8.54\n"},
		},
		{
			Path: "/join", ID: "getJoin", Tag: "points", Rank: 1,
			Summary: "The columns that a join adds",
			Doc:     "The columns that `POST /join` with the same parameters adds to a table, in their order.",
			Params:  params, Handle: s.getJoin, Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": Columns{}}, CachePolicy: endpoint.CacheNever,
			Problems: failures,
			Example:  endpoint.Example{Request: "/join?regions=country"},
		},
	}
}
