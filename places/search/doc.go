// Package search finds places by what is typed of their names: in any language
// that is known of them, with or without accents, with a letter wrong, and the
// most important first.
//
// It is fed with entries of a gazetteer by ascending id and knows nothing else
// of places. [Reader.Complete] answers what is typed letter by letter with one
// read; [Reader.Search] answers everything.
//
// # Names
//
// Names and texts are compared by their folds, see [Fold]. Names that some write
// differently have a second one: ä as ae, ö and ø as oe, ü as ue, å as aa; and
// words that are abbreviated, Saint as St, Mount as Mt, Fort as Ft and back. A
// name is found by its beginning and by that of every word in it. Codes are
// found only in full.
//
// # Tables
//
// All numbers in keys and values are big-endian.
//
// place_names has a row for every fold and id, the best name that gives it:
//
//	row     fold │ 0x00 │ ^base (2) │ id (4)
//	family  n     what filters, ranking and marking the match need
//
// base is the score of the place when the fold is the beginning of what matched;
// rows of one fold are thus in the order of answers. A place's own name is not
// stored where the fold says it all. No fold has a zero in it.
//
// place_prefix has a row for each beginning of 1 to 12 characters that more than
// 10 places share:
//
//	row     beginning of folds
//	family  j     the finished answer, JSON
//	family  c     the 100 best in binary, where more than 256 names begin so
//
// Fewer names are as quickly read as candidates. Beginnings that end in a space
// have candidates only: no text does.
//
// place_context has for the fold of each name of a country or first-level
// division which those are: row the fold, family c a list of country (2) │
// length of admin1 (varint) │ admin1.
//
// All cells of a build have one timestamp, and the same entries give the same
// bytes.
//
// # Ranking
//
// A score is a whole number, 256 for each doubling of the people that count for
// a place: fewer than live there for districts and parts of towns, more for
// capitals, some for features nobody lives in. To this come 1280 for a name
// matched in full. Taken off are 128 for another name that is official, 384 for
// other names, 512 for short and colloquial ones, 640 for historic ones; 128
// for the second fold; 768 for a word inside the name; 256 for words read as a
// country or division. So a whole name comes before the beginning of one and
// that before a word inside, unless what is behind is much more important. For a
// wrong letter 24576 are taken off: what has none comes before all that has one.
// Equal scores are in the order of ids.
//
// # Concurrency and memory
//
// A [Reader] may be used by any number of goroutines. It holds nothing but
// memory that is used again, and ends with the store it reads from. A [Builder]
// belongs to one goroutine and sorts within Options.Memory.
package search
