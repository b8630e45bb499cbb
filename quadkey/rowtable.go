package quadkey

import "math"

// The row of a latitude at MaxZoom is the integer part of a smooth function, so a cubic polynomial
// for each small range of latitudes finds it without sine and logarithm. rowAt trusts a polynomial
// only away from the edges of rows: there an error of it cannot change the integer part.
//
// A piece is the Hermite interpolation of the function and its derivative at its two ends. Its
// error is at most h⁴/384 times the fourth derivative, which is largest at MaxLatitude. The error
// there is less than 10⁻⁴ rows.
const (
	rowPieces = 1 << 11
	rowMargin = 1.0 / 64 // rows; more than a hundred times the error
	rowScale  = rowPieces / MaxLatitude
)

// rowTable has the polynomials of the pieces between the equator and MaxLatitude. The argument is
// the distance from the start of the piece as a part of its width. The value is the distance from
// the equator in rows.
var rowTable = func() (t [rowPieces][4]float64) {
	rows := func(lat float64) (f, slope float64) {
		sin, cos := math.Sincos(lat * radians)
		return math.Log((1+sin)/cos) / (2 * math.Pi) * grid, radians / cos / (2 * math.Pi) * grid / rowScale
	}
	f0, s0 := rows(0)
	for i := range t {
		f1, s1 := rows(float64(i+1) / rowScale)
		t[i] = [4]float64{f0, s0, 3*(f1-f0) - 2*s0 - s1, 2*(f0-f1) + s0 + s1}
		f0, s0 = f1, s1
	}
	return t
}()

// rowAt returns the row of a latitude at MaxZoom, as projectY does.
func rowAt(lat float64) uint32 {
	at := math.Abs(lat) * rowScale
	if i := int(at); uint(i) < rowPieces {
		p := &rowTable[i]
		u := at - float64(i)
		f := grid/2 - math.Copysign(p[0]+u*(p[1]+u*(p[2]+u*p[3])), lat)
		row := uint32(f)
		if part := f - float64(row); part > rowMargin && part < 1-rowMargin {
			return row
		}
	}
	return min(uint32(projectY(lat)*grid), grid-1)
}
