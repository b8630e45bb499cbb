// Package names finds named features that are no places of the gazetteer: regions of every layer,
// airports, time zones, weather stations and the points that users bring. Its scores have the same
// scale as those of places.Finder.Search, so that the results of both can be merged.
//
// # Tables
//
// The names are rows of package search. The table feature has a row for each feature:
//
//	row     id (4), big-endian
//	family  f   the feature, a JSON object
//
// and one that leads to it from its [Number], which is the same in every build:
//
//	row     0xff, number (8), big-endian
//	family  f   id (4), big-endian
//
// The table local_name has a row for each name of a region in a language:
//
//	row     type │ 0x00 │ folded id │ 0x00 │ language in lower case
//	family  n     the name to display
//
// Ids are numbers of one build: they begin at 1 and mean nothing in another.
//
// # Ranking
//
// A region ranks like an administrative area of its level in package search, with the total
// population of the places in it. So "france" is the country, "kansas" the state, and "paris" the
// city that another source knows.
//
// # Concurrency
//
// Any number of goroutines may use a [Reader], until its store is closed.
package names
