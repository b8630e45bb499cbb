// Package spelling reads numbers and times as people write them: 1.234,5 and 31/12/2024 and 2024-12-31 14:05. The values
// of a column together show how it is written. Single values would not: 01/02/2024 may be in January or in February.
//
// The result is written as JSON and RFC 3339 write it. What does not fit the column's spelling stays as it is.
package spelling
