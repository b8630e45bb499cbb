package timezone

import (
	"time"
)

// These types are for the description of the interface. The answers are written as bytes.

type clock struct {
	Offset       string    `json:"offset" doc:"From UTC." schema:"example=+02:00,pattern=^[+-][0-9:]{5,8}$"`
	OffsetS      int       `json:"offset_s" doc:"From UTC, in seconds."`
	DST          bool      `json:"dst" doc:"Daylight saving time is in force."`
	Abbreviation string    `json:"abbreviation" schema:"example=CEST"`
	LocalTime    time.Time `json:"local_time" doc:"RFC 3339."`
}

// LocalTime describes the output of AppendOffsetMembers.
type LocalTime struct {
	clock
	Since time.Time `json:"since,omitzero" doc:"When this offset began."`
}

// ZoneAt describes the output of SendOffset.
type ZoneAt struct {
	TimeZone string    `json:"timezone" doc:"IANA."`
	At       time.Time `json:"at"`
	LocalTime
}

// Zone describes the output of AppendZone.
type Zone struct {
	*clock
	ID       string   `json:"id" doc:"IANA."`
	Source   string   "json:\"source\" doc:\"Whose zone it is: a `region` of type timezone, the `country` where it has one only, a `place` or an `airport`; or the `longitude`, at sea and on land where nobody lives, in no zone.\" schema:\"enum=region|country|place|airport|longitude\""
	Match    string   `json:"match" schema:"enum=inside|nearest|derived"`
	Distance float64  `json:"distance_m,omitempty" doc:"To the nearest place or airport, whose zone it is."`
	Nautical bool     `json:"nautical,omitempty" doc:"The point is at sea: ships' time by longitude, no country's."`
	Also     []string `json:"also,omitempty" doc:"The other time zones that hold the point, where people keep two times, as in Xinjiang." schema:"minItems=1"`
}
