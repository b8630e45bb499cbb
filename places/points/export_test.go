package points

// Collection is what questions are answered from now.
func (c *LiveCollection) Collection() *Collection { return c.now.Load().Collection }
