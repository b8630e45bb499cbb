package main

import (
	"fmt"

	"quadrille/cmd/internal/credit"
)

// attribution is what must be shown for using files: text with links, as credit.Of reads it.
type attribution string

// UnmarshalText refuses what would be shown in another way than it is meant.
func (a *attribution) UnmarshalText(text []byte) error {
	if err := credit.Check(string(text)); err != nil {
		return fmt.Errorf("%q has %w", text, err)
	}
	*a = attribution(text)
	return nil
}

// MarshalText is the inverse of UnmarshalText.
func (a attribution) MarshalText() ([]byte, error) { return []byte(a), nil }
