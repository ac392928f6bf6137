package decide

// queue is a heap of candidates, lowest key first, then oldest. A candidate is in the queue at most once, and its slot
// says where, so that it can be removed.
type queue struct {
	items     []queueItem
	slotIndex int // which of a candidate's slots is this queue's
}

type queueItem struct {
	sortKey int64
	c       *candidate
}

func (q *queue) len() int { return len(q.items) }

// putAt adds c with a key, or gives it that key if it is in the queue.
func (q *queue) putAt(c *candidate, key int64) {
	at := c.queueSlots[q.slotIndex]
	if at == absent {
		at = int32(len(q.items))
		q.items = append(q.items, queueItem{})
	}
	q.settleAt(int(at), queueItem{key, c})
}

// removeCandidate takes c out, if it is there.
func (q *queue) removeCandidate(c *candidate) {
	at := int(c.queueSlots[q.slotIndex])
	if at == absent {
		return
	}
	c.queueSlots[q.slotIndex] = absent
	last := len(q.items) - 1
	moved := q.items[last]
	q.items[last] = queueItem{}
	q.items = q.items[:last]
	if at < last {
		q.settleAt(at, moved)
	}
}

// popFirst removes and returns the first candidate; the queue must not be empty.
func (q *queue) popFirst() *candidate {
	c := q.items[0].c
	q.removeCandidate(c)
	return c
}

// children is how many an item of the heap has: four lie in one cache line.
const children = 4

// settleAt puts an item into place i, which is free, or where it belongs above or below.
func (q *queue) settleAt(i int, item queueItem) {
	// Up as far as it precedes its parents, and from there down as far as children precede it.
	for i > 0 && item.precedes(&q.items[(i-1)/children]) {
		q.setSlot(i, q.items[(i-1)/children])
		i = (i - 1) / children
	}
	for {
		child := q.firstChild(i)
		if child < 0 || !q.items[child].precedes(&item) {
			break
		}
		q.setSlot(i, q.items[child])
		i = child
	}
	q.setSlot(i, item)
}

// firstChild returns the child of i that comes first, -1 if there is none.
func (q *queue) firstChild(i int) int {
	first := children*i + 1
	if first >= len(q.items) {
		return -1
	}
	for child := first + 1; child < min(children*i+1+children, len(q.items)); child++ {
		if q.items[child].precedes(&q.items[first]) {
			first = child
		}
	}
	return first
}

func (q *queue) setSlot(i int, item queueItem) {
	q.items[i] = item
	item.c.queueSlots[q.slotIndex] = int32(i)
}

func (a *queueItem) precedes(b *queueItem) bool {
	if a.sortKey != b.sortKey {
		return a.sortKey < b.sortKey
	}
	return a.c.isOlder(b.c)
}
