package stations

import (
	"encoding/binary"
	"math"
	"strconv"

	"quadrille/internal/jsontext"
)

// Sums adds up observations. Its numbers are whole, so the order of addition
// does not matter.
type Sums struct {
	// Observations counts all observations, whatever they reported.
	Observations int64

	temperature, dewPoint, pressure, speed, rain, cloud accumulated
	wind                                                accumulated // its sum is the east component
	north                                               int64
}

// accumulated holds count, sum and extremes of one quantity.
type accumulated struct {
	n, sum   int64
	min, max int32 // meaningless while n is 0
}

func (a *accumulated) add(v int32) { a.merge(accumulated{1, int64(v), v, v}) }

func (a *accumulated) merge(b accumulated) {
	switch {
	case b.n == 0:
	case a.n == 0:
		*a = b
	default:
		a.n, a.sum, a.min, a.max = a.n+b.n, a.sum+b.sum, min(a.min, b.min), max(a.max, b.max)
	}
}

// parts lists the accumulated quantities in their stored order.
func (s *Sums) parts() [7]*accumulated {
	return [...]*accumulated{&s.temperature, &s.dewPoint, &s.pressure, &s.speed, &s.rain, &s.cloud, &s.wind}
}

// add adds an observation.
func (s *Sums) add(o *Observation) {
	s.Observations++
	take := func(q Quantity, a *accumulated) {
		if v, ok := o.Value(q); ok {
			a.add(int32(v))
		}
	}
	take(Temperature, &s.temperature)
	take(DewPoint, &s.dewPoint)
	take(Pressure, &s.pressure)
	take(WindSpeed, &s.speed)
	if v, ok := o.Value(Precipitation1h); ok {
		s.rain.add(int32(max(v, 0)))
	}
	if v, ok := o.Value(SkyCover); ok && v <= 8 {
		s.cloud.add(int32(v))
	}
	speed, ok := o.Value(WindSpeed)
	from, known := o.Value(WindDirection)
	if ok && known {
		// The vector points to where the wind comes from, in 0.01 m/s.
		sin, cos := math.Sincos(float64(from) * radians)
		s.wind.add(int32(math.Round(float64(speed) * 10 * sin)))
		s.north += int64(math.Round(float64(speed) * 10 * cos))
	}
}

// merge adds other sums.
func (s *Sums) merge(o *Sums) {
	s.Observations += o.Observations
	s.north += o.north
	into, from := s.parts(), o.parts()
	for i := range into {
		into[i].merge(*from[i])
	}
}

// append appends the sums as varints.
func (s *Sums) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(s.Observations))
	for _, a := range s.parts() {
		dst = binary.AppendUvarint(dst, uint64(a.n))
		if a.n > 0 {
			dst = binary.AppendVarint(dst, a.sum)
			dst = binary.AppendVarint(dst, int64(a.min))
			dst = binary.AppendUvarint(dst, uint64(int64(a.max)-int64(a.min)))
		}
	}
	if s.wind.n > 0 {
		dst = binary.AppendVarint(dst, s.north)
	}
	return dst
}

// parse reads what append wrote and returns the bytes after it, or nil and
// false.
func (s *Sums) parse(b []byte) ([]byte, bool) {
	ok := true
	unsigned := func(most uint64) int64 {
		v, n := binary.Uvarint(b)
		if n <= 0 || v > most {
			ok = false
			return 0
		}
		b = b[n:]
		return int64(v)
	}
	signed := func(most int64) int64 {
		v, n := binary.Varint(b)
		if n <= 0 || v > most || v < -most {
			ok = false
			return 0
		}
		b = b[n:]
		return v
	}
	s.Observations = unsigned(math.MaxInt32)
	for _, a := range s.parts() {
		*a = accumulated{n: unsigned(math.MaxInt32)}
		if a.n > 0 && ok {
			a.sum = signed(math.MaxInt64 / 2)
			a.min = int32(signed(math.MaxInt16))
			a.max = a.min + int32(unsigned(math.MaxUint16))
		}
	}
	s.north = 0
	if s.wind.n > 0 && ok {
		s.north = signed(math.MaxInt64 / 2)
	}
	if !ok {
		return nil, false
	}
	return b, true
}

// AppendMembers appends the sums as members of a JSON object, without its
// braces. "observations" is the count. The means of the reported quantities are
// "temperature_c", "dew_point_c", "pressure_hpa", "wind_speed_ms",
// "precipitation_mm" (of an hour) and "cloud_okta". The extremes are
// "temperature_min_c", "temperature_max_c", "wind_speed_max_ms" and
// "precipitation_max_mm". "wind_direction_deg" is the direction from which the
// mean wind blows, absent if it is calm. Means are rounded to two digits.
func (s *Sums) AppendMembers(dst []byte) []byte {
	dst = append(dst, `"observations":`...)
	dst = strconv.AppendInt(dst, s.Observations, 10)
	mean := func(a *accumulated, name string, scale float64) bool {
		if a.n > 0 {
			dst = appendRounded(jsontext.AppendName(dst, name), float64(a.sum)/float64(a.n)/scale)
		}
		return a.n > 0
	}
	if mean(&s.temperature, "temperature_c", 10) {
		dst = appendTenths(jsontext.AppendName(dst, "temperature_min_c"), int(s.temperature.min))
		dst = appendTenths(jsontext.AppendName(dst, "temperature_max_c"), int(s.temperature.max))
	}
	mean(&s.dewPoint, "dew_point_c", 10)
	mean(&s.pressure, "pressure_hpa", 10)
	if mean(&s.speed, "wind_speed_ms", 10) {
		dst = appendTenths(jsontext.AppendName(dst, "wind_speed_max_ms"), int(s.speed.max))
	}
	if s.wind.n > 0 && (s.wind.sum != 0 || s.north != 0) {
		from := math.Atan2(float64(s.wind.sum), float64(s.north)) / radians
		dst = strconv.AppendInt(jsontext.AppendName(dst, "wind_direction_deg"), (int64(math.Round(from))+360)%360, 10)
	}
	if mean(&s.rain, "precipitation_mm", 10) {
		dst = appendTenths(jsontext.AppendName(dst, "precipitation_max_mm"), int(s.rain.max))
	}
	mean(&s.cloud, "cloud_okta", 1)
	return dst
}

func appendRounded(dst []byte, v float64) []byte {
	return strconv.AppendFloat(dst, math.Round(v*100)/100+0, 'f', -1, 64)
}
