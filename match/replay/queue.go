package replay

import (
	"container/heap"
	"time"

	"github.com/lattice-director/director/match/decide"
)

// waitingTicket is a ticket in the virtual queue.
type waitingTicket struct {
	queuedArrival Arrival

	readyChecks int // how many ready checks it had
}

// event is something that happens to tickets at a moment.
type event struct {
	happensAt   time.Time
	sequence    int // events of one moment happen in the order in which they were made
	ticket      string
	isLeaving   bool     // the ticket leaves the queue
	returnedIDs []string // tickets of a ready check that failed
}

// events is a heap of future events.
type events struct {
	queue     []event
	madeCount int
}

func (e *events) putEvent(v event) {
	e.madeCount++
	v.sequence = e.madeCount
	heap.Push((*eventHeap)(e), v)
}

// nextAt returns when the first event happens; zero: never.
func (e *events) nextAt() time.Time {
	if len(e.queue) == 0 {
		return time.Time{}
	}
	return e.queue[0].happensAt
}

func (e *events) popEvent() event {
	v, _ := heap.Pop((*eventHeap)(e)).(event)
	return v
}

type eventHeap events

func (h *eventHeap) Len() int { return len(h.queue) }
func (h *eventHeap) Less(i, j int) bool {
	a, b := &h.queue[i], &h.queue[j]
	if !a.happensAt.Equal(b.happensAt) {
		return a.happensAt.Before(b.happensAt)
	}
	return a.sequence < b.sequence
}
func (h *eventHeap) Swap(i, j int) { h.queue[i], h.queue[j] = h.queue[j], h.queue[i] }
func (h *eventHeap) Push(v any) {
	e, _ := v.(event)
	h.queue = append(h.queue, e)
}

func (h *eventHeap) Pop() any {
	last := h.queue[len(h.queue)-1]
	h.queue[len(h.queue)-1] = event{} // else the array would keep the ids of tickets in memory
	h.queue = h.queue[:len(h.queue)-1]
	return last
}

// proposal is a match that the engine found, with its tickets.
type proposal struct {
	decision decide.Proposal

	proposedAt time.Time
	tickets    []*waitingTicket
}
