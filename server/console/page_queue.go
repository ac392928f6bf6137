package console

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/opsview"
)

// queueView is what templates/queue.html reads.
type queueView struct {
	State   opsview.QueueState
	Profile string // whose plots are shown; empty: of all
	Waits   plotData
	Left    plotData
	Any     bool // whether tickets left in the last hour
}

// queuePage shows the queue of a universe, and the waits of its last hour. Those are read rarely, because their cost
// grows with the tickets of that hour.
func queuePage(universe string) page[queueView] {
	return page[queueView]{path: "/queue", template: "queue", every: 10 * time.Second,
		load: func(ctx context.Context, s Store, q query) (v queueView, err error) {
			v.Profile = q.Get("profile")
			v.State, err = readAll(ctx, s, func(ctx context.Context, r opsview.Querier) (opsview.QueueState, error) {
				return opsview.ReadQueue(ctx, r, universe)
			})
			if err != nil {
				return v, err
			}
			minutes := opsview.MinuteFilter{Universe: universe, Profile: v.Profile}
			waits, _, err := list(ctx, s, opsview.QueueWaits, minutes, opsview.Page{Limit: opsview.MaxMinutes})
			v.Any = len(waits) > 0
			v.Waits, v.Left = waitPlots(waits, time.Now())
			return v, err
		}}
}

// waitPlots makes a plot of the waits of assigned tickets, and one of the tickets that left. Where several profiles
// have tickets, the waits of a minute are those of the slowest one.
func waitPlots(waits []opsview.QueueWait, now time.Time) (waited, left plotData) {
	p50, p95 := newTimeline(now), newTimeline(now)
	assigned, others := newTimeline(now), newTimeline(now)
	for _, w := range waits {
		if w.Outcome != "assigned" {
			others.add(w.Minute, float64(w.Tickets))
			continue
		}
		p50.highest(w.Minute, w.P50.Seconds())
		p95.highest(w.Minute, w.P95.Seconds())
		assigned.add(w.Minute, float64(w.Tickets))
	}
	waited = p95.plot("Seconds that assigned tickets had waited", " s", series{"95 %", p95.gaps()},
		series{"half", p50.gaps()})
	left = assigned.plot("Tickets that left the queue, each minute", "", series{"assigned", assigned.values},
		series{"declined, cancelled or expired", others.values})
	return waited, left
}
