package points

// Collection is what questions are answered from now.
func (c *LiveCollection) Collection() *Collection { return c.now.Load().Collection }

// SetBehind makes views too old for the tree once more points than that have left.
func (c *LiveCollection) SetBehind(points uint64) { c.views.behind = points }
