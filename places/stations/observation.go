package stations

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strconv"
	"time"

	"quadrille/internal/jsontext"
)

// Quantity is a quantity that a station measures.
type Quantity uint8

// These are the quantities with the units of their stored whole numbers.
const (
	Temperature     Quantity = iota // of the air, 0.1 °C
	DewPoint                        // 0.1 °C
	Pressure                        // at sea level, 0.1 hPa
	WindDirection                   // where it blows from, degrees clockwise from north
	WindSpeed                       // 0.1 m/s
	SkyCover                        // code of its cover, 0 to 19; 0 to 8 are eighths of the sky
	Precipitation1h                 // of the hour before, 0.1 mm, or TraceAmount
	Precipitation6h                 // of the six hours before, 0.1 mm, or TraceAmount

	quantities = iota
)

// TraceAmount is an amount of precipitation too small to be measured.
const TraceAmount = -1

// quantity has the name of a quantity, and bounds that no measurement on Earth has passed.
type quantity struct {
	name     string
	min, max int16
}

var known = [quantities]quantity{
	Temperature:     {"temperature", -1000, 700},
	DewPoint:        {"dew point", -1100, 700},
	Pressure:        {"pressure", 8000, 11500},
	WindDirection:   {"wind direction", 0, 360},
	WindSpeed:       {"wind speed", 0, 1200},
	SkyCover:        {"sky cover", 0, 19},
	Precipitation1h: {"precipitation of one hour", TraceAmount, 10000},
	Precipitation6h: {"precipitation of six hours", TraceAmount, 20000},
}

// String returns the name of the quantity in words.
func (q Quantity) String() string {
	if q >= quantities {
		return "quantity " + strconv.Itoa(int(q))
	}
	return known[q].name
}

// Observation is one report of a station.
type Observation struct {
	Station ID
	Time    time.Time // UTC, to the minute

	has    uint16 // bit q: the quantity q is there
	values [quantities]int16
}

// Set sets a quantity, in the unit of its constant. An error matches ErrInvalid
// and means that the value never occurs on Earth. The quantity then keeps its
// value.
func (o *Observation) Set(q Quantity, value int) error {
	if q >= quantities {
		return fmt.Errorf("%w: there is no %v", ErrInvalid, q)
	}
	if k := &known[q]; value < int(k.min) || value > int(k.max) {
		return fmt.Errorf("%w: %s of %d; values run from %d to %d", ErrInvalid, k.name, value, k.min, k.max)
	}
	o.has |= 1 << q
	o.values[q] = int16(value)
	return nil
}

// Value returns a quantity, in the unit of its constant, and whether it was
// reported.
func (o *Observation) Value(q Quantity) (int, bool) {
	if q >= quantities || o.has>>q&1 == 0 {
		return 0, false
	}
	return int(o.values[q]), true
}

// Empty reports whether the observation has only a time.
func (o *Observation) Empty() bool { return o.has == 0 }

// appendValue appends the value of an observations row.
func (o *Observation) appendValue(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, o.has)
	for q := range o.values {
		if o.has>>q&1 != 0 {
			dst = binary.BigEndian.AppendUint16(dst, uint16(o.values[q]))
		}
	}
	return dst
}

// parseValue reads what appendValue wrote.
func (o *Observation) parseValue(v []byte) bool {
	if len(v) < 2 {
		return false
	}
	o.has = binary.BigEndian.Uint16(v)
	if o.has>>quantities != 0 || len(v) != 2+2*bits.OnesCount16(o.has) {
		return false
	}
	v = v[2:]
	for q := range o.values {
		o.values[q] = 0
		if o.has>>q&1 != 0 {
			o.values[q] = int16(binary.BigEndian.Uint16(v))
			v = v[2:]
		}
	}
	return true
}

// AppendJSON appends the observation as a JSON object: "time" and, where reported, "temperature_c",
// "dew_point_c", "pressure_hpa" (at sea level), "wind_direction_deg", "wind_speed_ms", "sky_code",
// "cloud_okta" (of sky codes 0 to 8), "precipitation_1h_mm" and "precipitation_6h_mm", with
// "precipitation_1h_trace":true if a 0 was a trace.
func (o *Observation) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"time":"`...)
	dst = append(o.Time.UTC().AppendFormat(dst, time.RFC3339), '"')
	for _, m := range [...]struct {
		q    Quantity
		name string
	}{{Temperature, "temperature_c"}, {DewPoint, "dew_point_c"}, {Pressure, "pressure_hpa"}, {WindSpeed, "wind_speed_ms"}} {
		if v, ok := o.Value(m.q); ok {
			dst = appendTenths(jsontext.AppendName(dst, m.name), v)
		}
	}
	if v, ok := o.Value(WindDirection); ok {
		dst = strconv.AppendInt(jsontext.AppendName(dst, "wind_direction_deg"), int64(v), 10)
	}
	if v, ok := o.Value(SkyCover); ok {
		dst = strconv.AppendInt(jsontext.AppendName(dst, "sky_code"), int64(v), 10)
		if v <= 8 {
			dst = strconv.AppendInt(jsontext.AppendName(dst, "cloud_okta"), int64(v), 10)
		}
	}
	dst = o.appendPrecipitation(dst, Precipitation1h, "precipitation_1h_mm", "precipitation_1h_trace")
	dst = o.appendPrecipitation(dst, Precipitation6h, "precipitation_6h_mm", "precipitation_6h_trace")
	return append(dst, '}')
}

func (o *Observation) appendPrecipitation(dst []byte, q Quantity, name, trace string) []byte {
	v, ok := o.Value(q)
	if !ok {
		return dst
	}
	dst = appendTenths(jsontext.AppendName(dst, name), max(v, 0))
	if v == TraceAmount {
		dst = append(jsontext.AppendName(dst, trace), "true"...)
	}
	return dst
}

// appendTenths appends a number given in tenths.
func appendTenths(dst []byte, tenths int) []byte {
	if tenths < 0 {
		dst, tenths = append(dst, '-'), -tenths
	}
	dst = strconv.AppendInt(dst, int64(tenths/10), 10)
	if tenths%10 != 0 {
		dst = append(dst, '.', byte('0'+tenths%10))
	}
	return dst
}

// Times in keys count from 2³¹ units before 1970. They are inverted so that the
// newest comes first.
const epoch = 1 << 31

// minutesOf returns the time in minutes, as in keys but not inverted. Times run
// from the year 1 to 6053.
func minutesOf(t time.Time) (uint32, bool) {
	return unitsOf(t, 60)
}

func unitsOf(t time.Time, seconds int64) (uint32, bool) {
	s := t.Unix()
	n := s / seconds
	if s%seconds < 0 {
		n--
	}
	if n < -epoch || n >= epoch || t.Year() < 1 {
		return 0, false
	}
	return uint32(n + epoch), true
}

func minuteTime(m uint32) time.Time { return time.Unix((int64(m)-epoch)*60, 0).UTC() }

func hourTime(h uint32) time.Time { return time.Unix((int64(h)-epoch)*3600, 0).UTC() }

const minutesPerHour = 60

// hourOf returns the hour of a minute.
func hourOf(m uint32) uint32 {
	n := int64(m) - epoch
	h := n / minutesPerHour
	if n%minutesPerHour < 0 {
		h--
	}
	return uint32(h + epoch)
}
