package gazgen

import (
	"bufio"
	"io"
	"iter"
	"strconv"
	"time"

	"quadrille/places"
)

// WriteTSV writes n places as GeoNames' own table: 19 tab-separated columns
// without a header.
func WriteTSV(w io.Writer, n int, seed uint64) error {
	return writeRows(w, Seq(n, seed), func(line []byte, p *places.Place) []byte {
		line = strconv.AppendUint(line, uint64(p.ID), 10)
		for _, s := range [...]string{p.Name, p.ASCIIName, p.AlternateNames} {
			line = append(append(line, '\t'), s...)
		}
		line = strconv.AppendFloat(append(line, '\t'), p.Lat, 'f', -1, 64)
		line = strconv.AppendFloat(append(line, '\t'), p.Lon, 'f', -1, 64)
		for _, s := range [...]string{p.Class, p.Code, p.Country, p.CC2, p.Admin1, p.Admin2, p.Admin3, p.Admin4} {
			line = append(append(line, '\t'), s...)
		}
		line = strconv.AppendInt(append(line, '\t'), p.Population, 10)
		line = append(line, '\t') // elevation
		line = strconv.AppendInt(append(line, '\t'), int64(*p.DEM), 10)
		line = append(append(line, '\t'), p.TimeZone...)
		return p.Modified.AppendFormat(append(line, '\t'), time.DateOnly)
	})
}

// WriteNamesTSV writes the alternate names of n places as GeoNames' table
// alternateNamesV2.
func WriteNamesTSV(w io.Writer, n int, seed uint64) error {
	id := uint64(0)
	return writeRows(w, Names(n, seed), func(line []byte, a *places.AlternateName) []byte {
		id++
		line = strconv.AppendUint(line, id, 10)
		line = strconv.AppendUint(append(line, '\t'), uint64(a.PlaceID), 10)
		line = append(append(append(append(line, '\t'), a.Lang...), '\t'), a.Name...)
		for _, set := range [...]bool{a.Preferred, a.Short, a.Colloquial, a.Historic} {
			if line = append(line, '\t'); set {
				line = append(line, '1')
			}
		}
		return append(line, "\t\t"...)
	})
}

// WriteParentsTSV writes the parents of n places as GeoNames' table hierarchy.
func WriteParentsTSV(w io.Writer, n int, seed uint64) error {
	return writeRows(w, Parents(n, seed), func(line []byte, p *places.Parent) []byte {
		line = strconv.AppendUint(line, uint64(p.Parent), 10)
		line = strconv.AppendUint(append(line, '\t'), uint64(p.Child), 10)
		return append(append(line, '\t'), p.Kind...)
	})
}

// WriteAdmin5TSV writes the fifth-level codes of n places as GeoNames' table
// adminCode5.
func WriteAdmin5TSV(w io.Writer, n int, seed uint64) error {
	return writeRows(w, Admin5(n, seed), func(line []byte, a *places.Admin5) []byte {
		line = strconv.AppendUint(line, uint64(a.PlaceID), 10)
		return append(append(line, '\t'), a.Code...)
	})
}

// WriteDivisionsTSV writes divisions as GeoNames' tables admin1CodesASCII and
// admin2Codes.
func WriteDivisionsTSV(w io.Writer, list []places.Division) error {
	rows := func(yield func(places.Division, error) bool) {
		for _, d := range list {
			if !yield(d, nil) {
				return
			}
		}
	}
	return writeRows(w, rows, func(line []byte, d *places.Division) []byte {
		line = append(append(append(line, d.Code...), '\t'), d.Name...)
		line = append(append(append(line, '\t'), d.ASCIIName...), '\t')
		return strconv.AppendUint(line, uint64(d.ID), 10)
	})
}

// writeRows writes a line for each element of a sequence.
func writeRows[T any](w io.Writer, seq iter.Seq2[T, error], appendLine func([]byte, *T) []byte) error {
	out := bufio.NewWriterSize(w, 1<<20)
	var line []byte
	for row, err := range seq {
		if err != nil {
			return err
		}
		line = append(appendLine(line[:0], &row), '\n')
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return out.Flush()
}
