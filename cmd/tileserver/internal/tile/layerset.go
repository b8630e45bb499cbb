package tile

import (
	"slices"
	"strings"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/tiles"
)

// layerSet is a list of layers that has been checked for certain generations.
type layerSet struct {
	// canonical is the same for every spelling of the same set, and is a valid list: regions, then
	// points; or "all" and then collections, if there are too many layers for a list.
	canonical string
	hash      web.Hash // of the names
	// regions are types in their published order, and the regions of a type by id.
	regions   []string
	selectors []tiles.Selector // of regions
	types     []string         // the region types in selectors, each once
	// points are layers of points in the order of the registry, then collections by name.
	points []string
	// drawings has the Drawing of layers of points by name, if they have one. named is set if one
	// of these layers has feature.Drawing.HasNames, and doubles if one has an Importance, or
	// no Drawing.
	drawings       map[string]*feature.Drawing
	named, doubles bool
	// fields are the properties of features that were chosen; nil means the usual ones. columns are
	// those of regions, by type.
	fields  []string
	columns map[string][]string
	// others are those of fields that no region of the set has.
	others []string
}

// with returns the set with other layers of points.
func (set *layerSet) with(points []string) *layerSet {
	part := *set
	part.points, part.named, part.doubles = points, false, false
	for _, name := range points {
		d := part.drawings[name]
		part.named, part.doubles = part.named || d != nil && d.HasNames, part.doubles || d == nil || d.Importance != nil
	}
	names := slices.Concat(part.regions, points)
	part.canonical = strings.Join(names, ",")
	part.hash = web.HashStart.Bytes(part.canonical).Bytes(part.fieldsText())
	if len(names) > endpoint.MaxListEntries || len(part.canonical) > endpoint.MaxListBytes {
		collections := slices.DeleteFunc(slices.Clone(points), func(name string) bool { return !strings.HasPrefix(name, ask.PointsPrefix) })
		part.canonical = strings.Join(append([]string{allLayers}, collections...), ",")
	}
	return &part
}

// landOrder lists the region types that are drawn below others, from the lowest.
var landOrder = []string{"continent", "country", "timezone", "state", "county"}

// ground returns the region type that is the land of a map of the set, if there is one. sea reports
// whether everything around it is water. This is false for a few regions or points, which are meant
// to be drawn on top of another map.
func (set *layerSet) ground() (land string, sea bool) {
	for _, typ := range landOrder {
		if slices.Contains(set.types, typ) {
			i := slices.IndexFunc(set.selectors, func(l tiles.Selector) bool { return l.Type == typ })
			return typ, set.selectors[i].ID == ""
		}
	}
	return "", false
}

// Bytes returns about the size of the set in memory.
func (set *layerSet) Bytes() int64 {
	const each = 64 // of a selector, with its text
	fields := 2 * len(set.fields)
	for _, names := range set.columns {
		fields += len(names)
	}
	return int64(2*len(set.canonical) + each*(len(set.selectors)+len(set.types)+len(set.points)+fields))
}

// layerKey has everything that the meaning of a list of layers depends on.
type layerKey struct {
	list       string
	fields     string // that were chosen
	boundaries uint64
	points     web.Hash // of the states of all layers of points, which "all" depends on
}

// Hash returns 0, because one lock guards all sets.
func (layerKey) Hash() uint64 { return 0 }

// ExtraBytes returns the size of the list.
func (k layerKey) ExtraBytes() int { return len(k.list) + len(k.fields) }

// layerSetBytes bounds the memory of resolved lists: about a thousand ordinary lists. All share one
// lock, because a sixteenth of the memory would be too little for a long list.
const layerSetBytes = 1 << 20
