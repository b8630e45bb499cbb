package gazgen

import (
	"bufio"
	"io"
	"strconv"
	"time"
)

// WriteTSV writes n places as GeoNames' own table: 19 tab-separated columns
// without a header.
func WriteTSV(w io.Writer, n int, seed uint64) error {
	out := bufio.NewWriterSize(w, 1<<20)
	var line []byte
	for p, err := range Seq(n, seed) {
		if err != nil {
			return err
		}
		line = strconv.AppendUint(line[:0], uint64(p.ID), 10)
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
		line = append(p.Modified.AppendFormat(append(line, '\t'), time.DateOnly), '\n')
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return out.Flush()
}
