package point

import (
	"time"

	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/timezone"
	"quadrille/cmd/tileserver/internal/web"
)

// These types describe the answers in the OpenAPI document. The handlers write the answers as
// bytes.

// At is the answer of /at.
type At struct {
	_       struct{}          `doc:"Everything about a point."`
	Lat     listing.Latitude  `json:"lat"`
	Lon     listing.Longitude `json:"lon"`
	Quadkey string            `json:"quadkey" schema:"pattern=^[0-3]+$"`
	At      time.Time         `json:"at"`
	Regions []struct {
		listing.RegionName
		Match string `json:"match" schema:"const=inside"`
	} `json:"regions,omitempty"`
	TimeZone timezone.Zone `json:"timezone,omitzero" doc:"Absent on land where none is known."`
	Place    struct {
		listing.Place
		Match    string           `json:"match" schema:"const=nearest"`
		Distance listing.Distance `json:"distance_m"`
	} `json:"place,omitzero"`
	Airport struct {
		listing.Airport
		Match    string           `json:"match" schema:"const=nearest"`
		Distance listing.Distance `json:"distance_m"`
	} `json:"airport,omitzero"`
	Station struct {
		listing.Station
		Match    string           `json:"match" schema:"const=nearest"`
		Distance listing.Distance `json:"distance_m"`
	} `json:"station,omitzero"`
	Missing []string `json:"missing,omitempty" doc:"Data sets that are not published."`
}

// AtBatchLine answers a line of POST /at.
type AtBatchLine struct {
	_      struct{} `name:"AtLine" doc:"A line of a batch: the answer, or an error." schema:"is"`
	Answer At
	Error  web.LineError
}
