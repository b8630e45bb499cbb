package geoparquet

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"quadrille/internal/jsontext"
)

// maxText bounds the JSON text of a property.
const maxText = 64 << 10

// These are reasons for losing a value.
var (
	tooLong   = fmt.Sprintf("it is longer than %d bytes", maxText)
	isBinary  = "it is binary"
	notFinite = "it is no finite number"
	notATime  = "it is no time of the years 0 to 9999"
)

// appendText appends a text as JSON.
func appendText(dst []byte, s string) []byte {
	return jsontext.AppendString(dst, strings.ToValidUTF8(s, "\ufffd"))
}

type appending = func(dst []byte, v parquet.Value) ([]byte, string)

// appender returns a function that appends a value of a column as JSON, or returns the reason why it
// cannot. isText reports whether all values are texts.
func appender(e *format.SchemaElement) (f appending, isText bool) {
	switch t := e.LogicalType.Value.(type) {
	case *format.StringType, *format.EnumType:
		return appendString, true
	case *format.JsonType:
		return appendRaw, false
	case *format.UUIDType:
		return appendUUID, true
	case *format.DateType:
		return appendDate, false
	case *format.DecimalType:
		return appendDecimal(int(t.Scale)), false
	case *format.TimestampType:
		if t.Unit.Value != nil {
			return appendTimestamp(t.Unit.Value.Duration(), t.IsAdjustedToUTC), false
		}
	case *format.TimeType:
		if t.Unit.Value != nil {
			return appendTime(t.Unit.Value.Duration()), false
		}
	case *format.IntType:
		if !t.IsSigned {
			return appendUnsigned, false
		}
	case *format.Float16Type:
		return appendHalf, false
	case *format.BsonType, *format.GeometryType, *format.GeographyType, *format.VariantType:
		return appendNothing, false
	}
	if e.ConvertedType.Valid && e.LogicalType.Value == nil {
		switch e.ConvertedType.V {
		case deprecated.UTF8, deprecated.Enum:
			return appendString, true
		case deprecated.Json:
			return appendRaw, false
		case deprecated.Date:
			return appendDate, false
		case deprecated.Decimal:
			return appendDecimal(int(e.Scale.V)), false
		case deprecated.TimestampMillis:
			return appendTimestamp(time.Millisecond, true), false
		case deprecated.TimestampMicros:
			return appendTimestamp(time.Microsecond, true), false
		case deprecated.TimeMillis:
			return appendTime(time.Millisecond), false
		case deprecated.TimeMicros:
			return appendTime(time.Microsecond), false
		case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
			return appendUnsigned, false
		case deprecated.Bson, deprecated.Interval:
			return appendNothing, false
		}
	}
	if e.Type.V == format.FixedLenByteArray {
		return appendNothing, false
	}
	return appendPlain, false
}

func appendNothing(dst []byte, _ parquet.Value) ([]byte, string) { return dst, isBinary }

// appendPlain appends a value without a type beyond its storage. Bytes are text if they are UTF-8,
// because old writers did not mark text.
func appendPlain(dst []byte, v parquet.Value) ([]byte, string) {
	switch v.Kind() {
	case parquet.Boolean:
		return strconv.AppendBool(dst, v.Boolean()), ""
	case parquet.Int32:
		return strconv.AppendInt(dst, int64(v.Int32()), 10), ""
	case parquet.Int64:
		return strconv.AppendInt(dst, v.Int64(), 10), ""
	case parquet.Float:
		return appendFloat(dst, float64(v.Float()), 32)
	case parquet.Double:
		return appendFloat(dst, v.Double(), 64)
	case parquet.Int96: // nanoseconds of the day, and the number of the Julian day
		const epoch = 2440588
		n := v.Int96()
		return appendInstant(dst, time.Unix((int64(int32(n[2]))-epoch)*86400, int64(n[1])<<32|int64(n[0])), false)
	case parquet.ByteArray:
		if !utf8.Valid(v.ByteArray()) {
			return dst, isBinary
		}
		return appendString(dst, v)
	}
	return dst, isBinary
}

func appendFloat(dst []byte, f float64, size int) ([]byte, string) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return dst, notFinite
	}
	form := byte('g')
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		form = 'f' // whole numbers may be ids or codes, which are written in digits
	}
	return strconv.AppendFloat(dst, f, form, -1, size), ""
}

// appendHalf appends a number of 16 bits: a sign, five bits of exponent and ten of fraction.
func appendHalf(dst []byte, v parquet.Value) ([]byte, string) {
	b := v.ByteArray()
	if len(b) != 2 {
		return dst, isBinary
	}
	h := binary.LittleEndian.Uint16(b)
	exponent, fraction := int(h>>10&31), float64(h&1023)/1024
	f := math.Ldexp(1+fraction, exponent-15)
	switch exponent {
	case 0:
		f = math.Ldexp(fraction, -14)
	case 31:
		return dst, notFinite
	}
	if h>>15 == 1 {
		f = -f
	}
	return appendFloat(dst, f, 32)
}

func appendString(dst []byte, v parquet.Value) ([]byte, string) {
	if len(v.ByteArray()) > maxText {
		return dst, tooLong
	}
	return appendText(dst, string(v.ByteArray())), ""
}

// appendRaw appends JSON as it is.
func appendRaw(dst []byte, v parquet.Value) ([]byte, string) {
	b := v.ByteArray()
	switch {
	case len(b) > maxText:
		return dst, tooLong
	case !json.Valid(b) || !utf8.Valid(b):
		return appendString(dst, v)
	case string(b) == "null":
		return dst, ""
	}
	return append(dst, b...), ""
}

func appendUUID(dst []byte, v parquet.Value) ([]byte, string) {
	b := v.ByteArray()
	if len(b) != 16 {
		return dst, isBinary
	}
	return fmt.Appendf(dst, `"%x-%x-%x-%x-%x"`, b[:4], b[4:6], b[6:8], b[8:10], b[10:]), ""
}

func appendUnsigned(dst []byte, v parquet.Value) ([]byte, string) {
	if v.Kind() == parquet.Int32 {
		return strconv.AppendUint(dst, uint64(v.Uint32()), 10), ""
	}
	return strconv.AppendUint(dst, v.Uint64(), 10), ""
}

func appendDate(dst []byte, v parquet.Value) ([]byte, string) {
	day := time.Unix(int64(v.Int32())*86400, 0).UTC()
	if day.Year() < 0 || day.Year() > 9999 {
		return dst, notATime
	}
	return append(day.AppendFormat(append(dst, '"'), time.DateOnly), '"'), ""
}

func appendTimestamp(unit time.Duration, utc bool) appending {
	inSecond := int64(time.Second / unit)
	return func(dst []byte, v parquet.Value) ([]byte, string) {
		n := v.Int64()
		return appendInstant(dst, time.Unix(n/inSecond, n%inSecond*int64(unit)), utc)
	}
}

// appendInstant appends a time. It has no zone in the text if it has none in the file.
func appendInstant(dst []byte, t time.Time, utc bool) ([]byte, string) {
	layout := "2006-01-02T15:04:05.999999999"
	if utc {
		layout = time.RFC3339Nano
	}
	if t = t.UTC(); t.Year() < 0 || t.Year() > 9999 {
		return dst, notATime
	}
	return append(t.AppendFormat(append(dst, '"'), layout), '"'), ""
}

// appendTime appends a time of the day.
func appendTime(unit time.Duration) appending {
	return func(dst []byte, v parquet.Value) ([]byte, string) {
		n := int64(v.Int32())
		if v.Kind() == parquet.Int64 {
			n = v.Int64()
		}
		if n < 0 || n > int64(24*time.Hour/unit) {
			return dst, notATime
		}
		return append(time.Unix(0, n*int64(unit)).UTC().AppendFormat(append(dst, '"'), "15:04:05.999999999"), '"'), ""
	}
}

// appendDecimal appends a whole number with a point before its last scale digits.
func appendDecimal(scale int) appending {
	const most = 76 // digits of the longest numbers of databases
	return func(dst []byte, v parquet.Value) ([]byte, string) {
		var n big.Int
		switch v.Kind() {
		case parquet.Int32:
			n.SetInt64(int64(v.Int32()))
		case parquet.Int64:
			n.SetInt64(v.Int64())
		default: // big-endian, in two's complement
			b := v.ByteArray()
			if len(b) > most/2 {
				return dst, tooLong
			}
			if n.SetBytes(b); len(b) > 0 && b[0] >= 0x80 {
				n.Sub(&n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
			}
		}
		if scale < 0 || scale > most {
			return dst, notFinite
		}
		if n.Sign() < 0 {
			dst = append(dst, '-')
		}
		digits := n.Abs(&n).String()
		if len(digits) <= scale {
			digits = strings.Repeat("0", scale+1-len(digits)) + digits
		}
		dst = append(dst, digits[:len(digits)-scale]...)
		if scale > 0 {
			dst = append(append(dst, '.'), digits[len(digits)-scale:]...)
		}
		return dst, ""
	}
}
