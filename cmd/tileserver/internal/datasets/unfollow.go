package datasets

// Unfollow forgets a published collection, which then answers as one that there has
// never been.
func (c *Collections) Unfollow(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.published, name)
}
