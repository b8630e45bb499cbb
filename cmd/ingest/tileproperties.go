package main

import (
	"encoding"
	"errors"
	"strings"

	"quadrille/feature"
)

// tileProperties is the flag for the properties that tiles of regions have.
type tileProperties struct {
	Property []propertyFlag `env:"QUADRILLE_BOUNDARIES_PROPERTY" sep:"," placeholder:"NAME[:number]" help:"A property that polygons and lines have in tiles beside id and name, of every layer of which the files have it; repeatable, or several separated by commas. With :number its texts become numbers. Left out, tiles have all that are texts, numbers or booleans, if these are at most 20 and short. A request can name others by fields=."`
}

// fields returns the properties.
func (p tileProperties) fields() (fields []feature.Field) {
	for _, f := range p.Property {
		fields = append(fields, feature.Field(f))
	}
	return fields
}

// propertyFlag is NAME or NAME:number.
type propertyFlag feature.Field

var _ encoding.TextUnmarshaler = (*propertyFlag)(nil)

func (f *propertyFlag) UnmarshalText(text []byte) error {
	name, isNumber := strings.CutSuffix(string(text), ":"+feature.Number.String())
	if name == "" {
		return errors.New("name a property, such as turnover or turnover:number")
	}
	if *f = (propertyFlag{Name: name}); isNumber {
		f.Kind = feature.Number
	}
	return nil
}

// MarshalText is the inverse of UnmarshalText.
func (f propertyFlag) MarshalText() ([]byte, error) {
	if f.Kind == feature.Number {
		return []byte(f.Name + ":" + f.Kind.String()), nil
	}
	return []byte(f.Name), nil
}
