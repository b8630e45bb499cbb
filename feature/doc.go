// Package feature is the common interface of all data sets with features, which are objects with a
// position or geometry and properties. A Layer answers a Query with Features. Callers need not know
// anything else about the layer.
//
// # Layers
//
// A Layer has three methods. Info describes it, Get finds a feature by its id, and Features lists
// the result of a Query: in an Area, near a position, in an order, those that pass a Filter.
// Further abilities of some layers are interfaces of their own, in the manner of io/fs: Counter,
// Tiler and Tracker; Count and Page work for all. A layer's implementation begins with
// Query.Select, which handles filters, limits and turns. Package layertest checks a layer's
// answers.
//
// There are no pages. Each feature has a Mark, its position in the order of the answer, and a query
// continues after a mark. Query.Cursor encodes a mark as text for clients.
//
// # Properties
//
// Properties are values, or a JSON object in compact form, which AppendProperties makes: without
// white space, each text and each number in one spelling, members in their order. Users of
// Properties see no difference. Functions that read the compact form check no syntax. Bytes in any
// other form may give wrong answers, but no panic and no endless loop. Their results are part of
// the object, and are valid as long as the object.
//
// A Schema lists properties with their kinds. A Learner derives it from values, and Schema.Convert
// converts values to its kinds. A filter is an [Expression], a tree of [Test]s in three-valued
// logic. ParseFilter makes one from the [Term]s of a query, and returns ErrFilter for terms that
// the schema does not allow. Package cql2 of the server makes one from CQL2. An index skips
// features by its Equalities and Terms.
//
// # Units, concurrency and memory
//
// Positions are degrees WGS84, distances metres along great circles. Schemas, filters and infos are
// never changed once they are made, so that any number of goroutines may use them, and layers. A
// Learner belongs to one at a time. A Feature that a loop receives is valid until the body ends;
// Feature.Clone copies it.
package feature
