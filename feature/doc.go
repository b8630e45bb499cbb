// Package feature is what all data sets share that have features, which are things with a
// place and properties: a Layer answers what a Query asks for with Features, and whoever asks
// knows no more of it.
//
// # Layers
//
// A Layer has three methods: Info describes it, Get finds a feature by its id, and Features
// lists those that a Query asks for: in an Area, near a position, in an order, of those that
// pass a Filter. What only some layers do is an interface of its own, in the manner of io/fs:
// Counter, Tiler and Tracker; Count and Page work for all. Query.Select is what a layer begins
// with: it looks after filters, limits and turns for what the layer finds. Package layertest
// judges whether a layer answers as it should.
//
// There are no pages. Each feature has a Mark, which says where it stands in the order of the
// answer, and a query goes on behind one. Query.Cursor makes the text of it that clients get.
//
// # Properties
//
// Properties are values, or a JSON object in compact form, which AppendProperties makes:
// without white space, each text and each number in one spelling, members in their
// order. Which of the two nobody can tell who asks for Properties. Functions that read the
// compact form check no syntax. Bytes in any other form give any answer, but no panic and no
// endless loop. What they return is part of the object, and is valid as long as that.
//
// A Schema lists properties with their kinds. A Learner finds it from values,
// and Schema.Convert gives values the kinds of it. A filter is an [Expression], a tree of [Test]s in
// three-valued logic. ParseFilter makes one of [Term]s in the words of a query, and refuses with
// ErrFilter what the schema does not allow; package cql2 of the server makes one of CQL2. An index
// reads from Equalities and Terms what it may pass over.
//
// # Units, concurrency and memory
//
// Positions are degrees WGS84, distances metres along great circles. Schemas, filters and
// infos are never changed once they are made, so that any number of goroutines may use
// them, and layers. A Learner belongs to one at a time. A Feature that a loop is given is valid
// until the body ends; Feature.Clone keeps one.
package feature
