package listing

import (
	"context"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/feature"
)

// Spec describes how a layer of points is listed at its paths: package layers answers at
// Path/nearby, Path/within, Path/within/{type}/{id} and Path/count.
type Spec struct {
	// Layer is the name of the layer. If the path has a parameter that names one or several layers,
	// Layer is the prefix of their names.
	Layer string
	// Path is the path of the layer, such as /airports. Name is the member of a list that has
	// the features.
	Path, Name string
	Words      Words
	// Open is set if the layer has properties that are not known in advance. Lists can filter and
	// sort by them, and select them. They are written separately from the fixed members of the
	// layer. Such layers also support queries at a past instant, and single features at Path/{id}.
	Open bool
	// NumericIDs is set if ids of GeoJSON are numbers.
	NumericIDs bool
	// Params are the parameters of lists and counts in addition to those of all layers. Filter
	// makes a filter from them. Open layers have none.
	Params []endpoint.Param
	Filter func(q *endpoint.Params) (feature.Filter, error)
	// IsDear reports whether a list of the nearest features may be expensive. Nil means that it never
	// is.
	IsDear func(q *endpoint.Params, limit int) bool
	// Order is the order of features within an area. WithBounds is set if lists of a box also have this
	// order.
	Order      feature.Order
	WithBounds bool
	// Show reads the parameters ShowParams, which only lists have. It returns a function that changes a
	// feature for the answer, or nil for no change.
	ShowParams []endpoint.Param
	Show       func(q *endpoint.Params) func(ctx context.Context, l feature.Layer, f *feature.Feature) error
	// AppendToFirstPage adds members to the first page of an area. It may be nil.
	AppendToFirstPage func(ctx context.Context, l feature.Layer, in feature.Area, dst []byte) ([]byte, error)
	// NoLayer and NoFeature are the types of the problems for a missing layer and a missing
	// feature.
	NoLayer, NoFeature string

	// Examples has requests by the ends of their paths.
	Examples map[string]string
	// List and Features describe lists. Item describes a feature of an open layer.
	List, Features, Item any
}

// Words has the texts of the description of an interface.
type Words struct {
	// Tag is the OpenAPI tag of the operations. Rank is the rank of the first of them within the
	// tag.
	Tag  string
	Rank int
	// IDSuffix is the rest of get… in the operations' ids, such as Airports. Things are the
	// features of the layer, such as airports.
	IDSuffix, Things string
	// OrderText describes the order of lists of an area, such as ", the most important first".
	OrderText string
	// NearbyText describes lists of the nearest features.
	NearbyText string
}
