package replayer

import (
	"container/heap"
	"encoding/json"
	"errors"
	"time"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/explain"
	"github.com/lattice-director/director/match/replay"
)

// bySeen is a heap of arrivals, in the order in which workers saw them.
type bySeen []replay.Arrival

func (h *bySeen) Len() int { return len(*h) }

func (h *bySeen) Swap(i, j int) { (*h)[i], (*h)[j] = (*h)[j], (*h)[i] }

func (h *bySeen) Less(i, j int) bool {
	a, b := &(*h)[i], &(*h)[j]
	// Arrivals of one moment are ordered as the loop orders a page of the queue: a replay that adds tickets in another
	// order may decide otherwise.
	if !a.SeenAt.Equal(b.SeenAt) {
		return a.SeenAt.Before(b.SeenAt)
	}
	if !a.Ticket.Created.Equal(b.Ticket.Created) {
		return a.Ticket.Created.Before(b.Ticket.Created)
	}
	return a.Ticket.ID < b.Ticket.ID
}

func (h *bySeen) Push(x any) { a, _ := x.(replay.Arrival); *h = append(*h, a) }

func (h *bySeen) Pop() any {
	last := (*h)[len(*h)-1]
	// The array behind the heap stays, and would keep the ticket in memory.
	(*h)[len(*h)-1] = replay.Arrival{}
	*h = (*h)[:len(*h)-1]
	return last
}

// yieldArrivals yields the tickets in the order in which workers saw them. They are read by creation, and no ticket is
// seen before it: tickets that were seen later than the next one was created wait in a heap. A ticket that waited when
// the queue was read counts as one that waits.
func (h *history) yieldArrivals(yield func(replay.Arrival, error) bool) {
	var late bySeen
	waiting, stopped := h.waitingArrivals, false
	// release yields the late tickets that were seen before a moment, or all for the zero time; false: the caller wants
	// no more.
	release := func(until time.Time) bool {
		for len(late) > 0 && (until.IsZero() || late[0].SeenAt.Before(until)) {
			a, _ := heap.Pop(&late).(replay.Arrival)
			if !yield(a, nil) {
				stopped = true
				return false
			}
		}
		return true
	}
	err := h.store.PastTickets(h.ctx, h.pastRange, func(row query.ReplayTicketsRow) error {
		// The ticket left after the queue was read.
		if h.isWaiting[row.ID] {
			return nil
		}
		// Tickets that still wait are in no history: each is merged in at its creation.
		for len(waiting) > 0 && !waiting[0].Ticket.Created.After(row.Created) {
			heap.Push(&late, waiting[0])
			waiting = waiting[1:]
		}
		// Later rows were created, and so seen, no earlier than this one: the tickets seen before can be yielded in order.
		if !release(row.Created) {
			return errEnough
		}
		a, err := h.arrivalOf(row)
		if err == nil {
			heap.Push(&late, a)
		}
		return err
	})
	// The caller wants no more, and an iterator must not yield to it again.
	if stopped {
		return
	}
	if err != nil {
		yield(replay.Arrival{}, err)
		return
	}
	// The tickets that wait and were created after the last one of the history.
	for _, a := range waiting {
		heap.Push(&late, a)
	}
	release(time.Time{})
}

// yieldMatches yields the matches that the profile made.
func (h *history) yieldMatches(yield func(replay.Match, error) bool) {
	err := h.store.PastMatches(h.ctx, h.pastRange, func(row query.ReplayMatchesRow) error {
		if !yield(matchOf(row), nil) {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		yield(replay.Match{}, err)
	}
}

func matchOf(row query.ReplayMatchesRow) replay.Match {
	m := replay.Match{Version: int(row.Version), Players: int(row.Players), Region: row.GameRegion}
	var why explain.Why
	_ = json.Unmarshal(row.Why, &why) // an unknown form, of a newer release, yields fewer fields
	for _, r := range why.Rules {
		m.Rules = append(m.Rules, decide.RuleValue{ID: r.Rule, Value: r.Value, Limit: r.Limit, Text: r.Text})
	}
	for _, r := range why.Regions {
		// A match without seats has no game region: the first one with a latency counts, which is the best.
		if r.Worst != nil && (r.Region == m.Region || m.Region == "" && m.Latency == 0) {
			m.Latency = *r.Worst
		}
	}
	return m
}
