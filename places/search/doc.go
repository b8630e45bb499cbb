// Package search finds places by their names as a user types them: in any known
// language, with or without accents, with wrong letters, and the most important
// places first.
//
// It reads the entries of a gazetteer by ascending id. It has no other knowledge of places.
// [Reader.Complete] answers typing letter by letter with one read; [Reader.Search] answers every
// query.
//
// # Names
//
// Names and texts are compared by their folds, see [Fold]. Names with several spellings have a
// second fold: ä as ae, ö and ø as oe, ü as ue, å as aa, and abbreviated words, Saint as St, Mount
// as Mt, Fort as Ft and back. A place without a name in Latin letters also has the fold of its own
// name transliterated into Latin letters. A name is found by its beginning and by the beginning of
// each word in it. Codes are found only in full.
//
// # Tables
//
// All numbers in keys and values are big-endian.
//
// place_names has a row for every pair of fold and id, with the best name that
// gives the fold:
//
//	row     fold │ 0x00 │ ^base (2) │ id (4)
//	family  n     what filters, ranking and marking the match need
//
// base is the score of the place when the fold is the beginning of the match,
// so rows of one fold are in the order of answers. A place's own name is not
// stored if it follows from the fold. No fold contains a zero.
//
// place_prefix has a row for each beginning of 1 to 12 characters that more
// than 10 places share:
//
//	row     beginning of folds
//	family  j     the finished answer, JSON
//	family  c     the 100 best in binary, of main names and those that are the
//	              whole beginning, where more than 256 names begin so
//	family  o     the 100 best of the others there
//
// If fewer names begin so, reading them is as quick as reading candidates. Beginnings that end in a
// space have candidates only, because no text ends in a space.
//
// place_context maps the fold of each name of a country or first-level division
// to the divisions with that name: row the fold, family c a list of country (2)
// │ length of admin1 (varint) │ admin1.
//
// place_folds has all distinct folds of place_names in order, if they take at most 8 MiB. Otherwise
// it has no row.
//
//	row     number (4), from 0 without gaps
//	family  f   a part of the list, whose parts follow each other: for each fold
//	            length of what it shares with the fold before (1)
//	            │ length of the rest (1) │ rest
//
// Each sixteenth fold, from the first one on, shares nothing.
//
// All cells of a build have one timestamp. Equal entries give equal bytes.
// Tables of version 1 have other folds, see [SchemaVersion], and stay readable.
//
// # Ranking
//
// A score is a whole number with 256 points for each doubling of the population that counts for a
// place. Districts and parts of towns count fewer people than their inhabitants, capitals more, and
// features without inhabitants some.
//
// The matched name adds:
//
//   - 1280 for a name that is matched in full;
//   - 2304 more if that name is a code, or a main name of a place of at least
//     8192 people;
//   - 1024 more if it is another name of such a place.
//
// Main names are a place's own, those with [Name.Main], those in other letters
// than Latin ones, and those in the language of the query. Deducted are:
//
//   - 128 for another official name, 384 for other names, 512 for short and
//     colloquial names, 640 for historic names;
//   - 128 for the second fold, 512 for a transliteration, of the name and of the
//     text alike;
//   - 1536 for a word inside the name;
//   - 1024 for the beginning of a name in Latin letters that is no main one;
//   - 256 for words read as a country or division;
//   - 24576 for each wrong letter, so that every match with fewer of them comes
//     first.
//
// Unless one place is much more important, a whole name therefore comes first, then the beginning
// of a main name, then a word inside a name, and last the beginning of a name that few know. Texts
// of up to three Latin letters find matches of the last kind only if they find nothing else. Equal
// scores are in the order of ids. If two names of a place have equal scores, a well-known name is
// shown rather than the beginning of a name that is not a main one.
//
// # Concurrency and memory
//
// Any number of goroutines may use a [Reader], until its store is closed. It holds place_folds, which
// takes up to 9 MiB with its index, and reusable memory. Whether any name begins with a text, it then
// knows without a seek. That is what searches for wrong letters ask most. Without place_folds, such as
// with more names or in data of earlier releases, they ask the store, and find the same. A [Builder]
// belongs to one goroutine and sorts within Options.Memory.
package search
