// Package feature is what all data sets share that have features, which are things with a
// place and properties: how properties are kept, what types they have, and what a filter asks
// of them.
//
// Properties are a JSON object in compact form, which [AppendProperties] makes: without white
// space, each text and each number in one spelling, members in their order. Functions that
// read the compact form check no syntax. Bytes in any other form give any answer, but no panic
// and no endless loop. What they return is part of the object, and is valid as long as that.
//
// A [Schema] lists properties with their types. A [Learner] finds it from values, and
// [Schema.Convert] gives values the types of it. Filters are made of [Term]s in the words of
// a query, and refuse with [ErrFilter] what the schema does not allow; an index reads from
// [Filter.Equalities] what it may pass over.
//
// Schemas and filters are never changed once they are made, so that any number of goroutines
// may use them. A Learner belongs to one at a time.
package feature
