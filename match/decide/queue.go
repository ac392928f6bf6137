package decide

// queue is a heap of candidates, lowest key first, then oldest. Each candidate is in it at most once, and its slot
// says where, so that it can be removed.
type queue struct {
	items []queued
	slot  int // which of a candidate's slots is this queue's
}

type queued struct {
	key int64
	c   *candidate
}

// The queues that a candidate may be in.
const (
	dirtySlot = iota
	timerSlot
	slots
)

// absent is the slot of a candidate that is not in the queue.
const absent = -1

func (q *queue) len() int { return len(q.items) }

// put adds c with the key, or moves it there.
func (q *queue) put(c *candidate, key int64) {
	at := c.slots[q.slot]
	if at == absent {
		at = int32(len(q.items))
		q.items = append(q.items, queued{})
	}
	q.settle(int(at), queued{key, c})
}

func (q *queue) remove(c *candidate) {
	at := int(c.slots[q.slot])
	if at == absent {
		return
	}
	c.slots[q.slot] = absent
	last := len(q.items) - 1
	moved := q.items[last]
	q.items[last] = queued{}
	q.items = q.items[:last]
	if at < last {
		q.settle(at, moved)
	}
}

// pop removes and returns the first candidate; the queue must not be empty.
func (q *queue) pop() *candidate {
	c := q.items[0].c
	q.remove(c)
	return c
}

// children is how many an item of the heap has: four lie in one cache line.
const children = 4

// settle puts an item into place i, which is free, or where it belongs above or below.
func (q *queue) settle(i int, item queued) {
	for i > 0 && item.precedes(&q.items[(i-1)/children]) {
		q.set(i, q.items[(i-1)/children])
		i = (i - 1) / children
	}
	for {
		child := q.firstChild(i)
		if child < 0 || !q.items[child].precedes(&item) {
			break
		}
		q.set(i, q.items[child])
		i = child
	}
	q.set(i, item)
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

func (q *queue) set(i int, item queued) {
	q.items[i] = item
	item.c.slots[q.slot] = int32(i)
}

func (a *queued) precedes(b *queued) bool {
	if a.key != b.key {
		return a.key < b.key
	}
	return a.c.older(b.c)
}
