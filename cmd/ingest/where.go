package main

import "quadrille/cmd/ingest/internal/job/features"

// filtered has the flag that chooses features by their properties.
type filtered struct {
	Where features.Where `text:"" env:"-" placeholder:"EXPRESSION" help:"Take only features whose properties fulfil a condition in CQL2, such as \"subtype = 'county' AND population > 1000\", with the names that the files have. Text stands in single quotes."`
}
