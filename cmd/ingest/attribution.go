package main

import (
	"fmt"

	"quadrille/cmd/internal/credit"
)

// attribution is the credit that users of a file must show: text with links in the syntax of
// credit.HTMLAndText.
type attribution string

// UnmarshalText refuses text that would be shown differently from what its author intends.
func (a *attribution) UnmarshalText(text []byte) error {
	if err := credit.Check(string(text)); err != nil {
		return fmt.Errorf("%q has %w", text, err)
	}
	*a = attribution(text)
	return nil
}

// MarshalText is the inverse of UnmarshalText.
func (a attribution) MarshalText() ([]byte, error) { return []byte(a), nil }
