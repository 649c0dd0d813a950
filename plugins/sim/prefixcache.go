package sim

import "container/list"

// prefixCache remembers the hashes of prompt blocks that were computed, the
// least recently used at the back. It lives in the blocks that nobody holds: the
// scheduler trims it to that number.
//
// Note: a block that a running sequence shares with the cache is counted twice.
// That makes the cache a little smaller than a real one and spares reference
// counts, which no figure of the simulation needs.
type prefixCache struct {
	order  *list.List
	byHash map[uint64]*list.Element
}

func newPrefixCache() *prefixCache {
	return &prefixCache{order: list.New(), byHash: map[uint64]*list.Element{}}
}

// match returns how many leading blocks are cached, and refreshes them.
func (c *prefixCache) match(blocks []uint64) int {
	for i, h := range blocks {
		e, ok := c.byHash[h]
		if !ok {
			return i
		}
		c.order.MoveToFront(e)
	}
	return len(blocks)
}

func (c *prefixCache) insert(blocks []uint64) {
	for _, h := range blocks {
		if e, ok := c.byHash[h]; ok {
			c.order.MoveToFront(e)
			continue
		}
		c.byHash[h] = c.order.PushFront(h)
	}
}

func (c *prefixCache) trim(size int) {
	for c.order.Len() > max(size, 0) {
		e := c.order.Back()
		c.order.Remove(e)
		delete(c.byHash, e.Value.(uint64))
	}
}
