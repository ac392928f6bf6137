package replay

import (
	"container/heap"
	"time"
)

// waiting is a ticket in the virtual queue.
type waiting struct {
	Arrival

	asked int // how many ready checks it had
}

// event is something that happens to tickets at a moment.
type event struct {
	at      time.Time
	n       int // events of one moment happen in the order in which they were made
	ticket  string
	leaves  bool     // the ticket leaves the queue
	returns []string // tickets of a ready check that failed
}

// events is a heap of future events.
type events struct {
	all  []event
	made int
}

func (e *events) put(v event) {
	e.made++
	v.n = e.made
	heap.Push((*eventHeap)(e), v)
}

// next returns when the first event happens; zero: never.
func (e *events) next() time.Time {
	if len(e.all) == 0 {
		return time.Time{}
	}
	return e.all[0].at
}

func (e *events) pop() event {
	v, _ := heap.Pop((*eventHeap)(e)).(event)
	return v
}

type eventHeap events

func (h *eventHeap) Len() int { return len(h.all) }
func (h *eventHeap) Less(i, j int) bool {
	a, b := &h.all[i], &h.all[j]
	if !a.at.Equal(b.at) {
		return a.at.Before(b.at)
	}
	return a.n < b.n
}
func (h *eventHeap) Swap(i, j int) { h.all[i], h.all[j] = h.all[j], h.all[i] }
func (h *eventHeap) Push(v any) {
	e, _ := v.(event)
	h.all = append(h.all, e)
}

func (h *eventHeap) Pop() any {
	last := h.all[len(h.all)-1]
	h.all[len(h.all)-1] = event{}
	h.all = h.all[:len(h.all)-1]
	return last
}
