package decide

// queue is a binary heap of candidates, lowest key first, then oldest. Each candidate is in it at most once, and its slot
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
	if at := c.slots[q.slot]; at != absent {
		q.items[at].key = key
		q.fix(int(at))
		return
	}
	q.items = append(q.items, queued{key, c})
	c.slots[q.slot] = int32(len(q.items) - 1)
	q.up(len(q.items) - 1)
}

func (q *queue) remove(c *candidate) {
	at := int(c.slots[q.slot])
	if at == absent {
		return
	}
	last := len(q.items) - 1
	q.swap(at, last)
	q.items[last] = queued{}
	q.items = q.items[:last]
	c.slots[q.slot] = absent
	if at < last {
		q.fix(at)
	}
}

// pop removes and returns the first candidate; the queue must not be empty.
func (q *queue) pop() *candidate {
	c := q.items[0].c
	q.remove(c)
	return c
}

func (q *queue) fix(i int) {
	q.down(i)
	q.up(i)
}

func (q *queue) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !q.less(i, parent) {
			return
		}
		q.swap(i, parent)
		i = parent
	}
}

func (q *queue) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(q.items) {
			return
		}
		if right := child + 1; right < len(q.items) && q.less(right, child) {
			child = right
		}
		if !q.less(child, i) {
			return
		}
		q.swap(i, child)
		i = child
	}
}

func (q *queue) less(i, j int) bool {
	a, b := &q.items[i], &q.items[j]
	if a.key != b.key {
		return a.key < b.key
	}
	return a.c.older(b.c)
}

func (q *queue) swap(i, j int) {
	q.items[i], q.items[j] = q.items[j], q.items[i]
	q.items[i].c.slots[q.slot] = int32(i)
	q.items[j].c.slots[q.slot] = int32(j)
}
