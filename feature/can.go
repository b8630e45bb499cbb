package feature

// Abilities lists a layer's abilities beyond those of every layer: its own order, the features in a
// box, and any filter.
type Abilities struct {
	Near       bool // the nearest first
	Area       bool // features in any area; for features other than points, its parts must have a Border, Reaches or no Contains
	NearInArea bool // the nearest of an area
	Importance bool // the most important first
	Sort       bool // the order of a property
}

// Check returns an error if a layer cannot answer a query, whatever features the layer has. The
// error matches errors.ErrUnsupported if another layer could answer the query, and ErrQuery if no
// layer could. Layers begin an answer with Check, and callers may also call it before.
func (in *Info) Check(q *Query) error {
	_, box := q.In.(Box)
	switch {
	case !q.At.IsZero() && !in.History:
		return Unsupported("an instant: only what is now is kept, so leave it out")
	case q.Near != nil && q.Order != Order{}:
		return BadQuery("the nearest come by their distance: leave the order out")
	case q.Near != nil && !in.Can.Near:
		return Unsupported("the nearest as a list: ask for those in a box")
	case q.Near != nil && q.In != nil && !in.Can.NearInArea:
		return Unsupported("the nearest of an area: ask for the nearest, or for those in the area")
	case q.Order.Importance && !in.Can.Importance:
		return Unsupported("an order by importance: leave the order out")
	case q.Order.Field.Name != "" && !in.Can.Sort:
		return Unsupported("an order by %.40q: leave the order out", q.Order.Field.Name)
	case q.In != nil && !box && !in.Can.Area:
		return Unsupported("what is in %.40s: ask for what is in a box", q.In)
	}
	return nil
}
