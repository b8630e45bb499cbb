package feature

import "slices"

// Kind is the kind of the values of a property.
type Kind uint8

// These are the kinds of properties. The zero Kind belongs to an absent value.
const (
	Null Kind = iota
	Text
	Number
	Integer // a number without a fraction; a column has it only if none of its numbers has one
	Boolean
	Time  // text: a time of RFC 3339, or a date
	Texts // a list of text
	Any   // values of several kinds, or none of the above
	// RegionID is text that is the id of a region, as in records of regions. Tests for equality, a
	// prefix or a pattern compare ids as [SameRegionID] does. Ids are ordered as texts.
	RegionID
)

var kindNames = [...]string{
	Text:     "text",
	Number:   "number",
	Integer:  "integer",
	Boolean:  "boolean",
	Time:     "time",
	Texts:    "texts",
	Any:      "any",
	RegionID: "text",
}

// String returns the name of a kind, "" for Null.
func (k Kind) String() string { return kindNames[k] }

// kindsToGive is a text that lists the kinds for declarations.
const kindsToGive = "text, number, boolean, time, texts or any"

func parseKind(name []byte) (k Kind, ok bool) {
	i := slices.Index(kindNames[:], string(name))
	return Kind(max(i, 0)), i > 0
}

// MarshalText implements encoding.TextMarshaler.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. Its error matches ErrType.
func (k *Kind) UnmarshalText(text []byte) (err error) {
	var ok bool
	if *k, ok = parseKind(text); !ok {
		err = typeError("there is no type %.20q: give "+kindsToGive, text)
	}
	return err
}

// ordinary returns the kind in which values of kind k are compared and stored.
func (k Kind) ordinary() Kind {
	switch k {
	case Integer:
		return Number
	case RegionID:
		return Text
	}
	return k
}
