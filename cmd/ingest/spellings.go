package main

import (
	"fmt"
	"time"

	"quadrille/cmd/ingest/internal/source/spelling"
)

// spellings are the flags for how tables are laid out, and how numbers and times are written.
type spellings struct {
	Zone      zoneFlag    `env:"QUADRILLE_POINTS_ZONE" placeholder:"ZONE" help:"The time zone of times that name none, such as Europe/Berlin. Left out, it is UTC; a line says so."`
	DateOrder string      `env:"QUADRILLE_POINTS_DATE_ORDER" enum:",day-first,month-first" default:"" placeholder:"ORDER" help:"The order of dates such as 1/2/2024, day-first or month-first, in columns that do not show it."`
	Decimal   decimalFlag `env:"QUADRILLE_POINTS_DECIMAL" placeholder:"MARK" help:"The decimal mark of numbers, a comma or a point. Left out, columns of which most numbers have a comma have decimal commas, unless all could be thousands or commas separate the columns; a line says so."`
	Header    string      `env:"QUADRILLE_POINTS_HEADER" enum:",first,none" default:"" placeholder:"WHICH" help:"none for tables without a line of names, whose columns are called 1, 2, 3 and so on, or as --columns says."`
	Columns   []string    `env:"QUADRILLE_POINTS_COLUMNS" placeholder:"NAMES" help:"The names of the columns of a table without a line of names, from the first on, separated by commas."`
}

// headless reports whether tables have no line of names.
func (s *spellings) headless() bool {
	return s.Header == "none" || s.Header == "" && len(s.Columns) > 0
}

func (s *spellings) style() spelling.Style {
	return spelling.Style{Zone: s.Zone.Location, DateOrder: s.DateOrder, Decimal: string(s.Decimal)}
}

// zoneFlag is the name of a time zone.
type zoneFlag struct{ *time.Location }

// UnmarshalText implements encoding.TextUnmarshaler. Nothing is no zone, as a printed file of settings has it.
func (z *zoneFlag) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		return nil
	}
	if z.Location, err = time.LoadLocation(string(text)); err != nil || string(text) == "Local" {
		return fmt.Errorf("%q is no time zone; name one such as Europe/Berlin or UTC", text)
	}
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (z zoneFlag) MarshalText() ([]byte, error) {
	if z.Location == nil {
		return nil, nil
	}
	return []byte(z.String()), nil
}

// decimalFlag is a decimal mark.
type decimalFlag string

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *decimalFlag) UnmarshalText(text []byte) error {
	switch string(text) {
	case ",", ".":
		*d = decimalFlag(text)
		return nil
	}
	return fmt.Errorf("%q is no decimal mark; give , or .", text)
}
