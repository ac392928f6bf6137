package main

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// watcher reads the ops views four times a second during the play. It records violations, and prints the state of the
// fleet every few seconds.
type watcher struct {
	cluster *cluster
	players *players
	screen  *screen
	printed time.Time
	tally   tally
}

// tally is the summary of all that the watcher saw.
type tally struct {
	looks            int
	fullest          float64 // the largest share of a server's seats that its sessions took
	overCapacity     string  // the servers that were first seen over capacity
	brokenInvariants string  // the invariants that were first seen broken
}

// run looks until ctx ends. Errors: a query failed, or a process ended by itself.
func (w *watcher) run(ctx context.Context) error {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := w.look(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (w *watcher) look(ctx context.Context) error {
	var fleet, over, broken string
	var fullest float64
	err := w.cluster.db.QueryRow(ctx, `
		SELECT coalesce(string_agg(instance || ' ' || CASE WHEN status <> 'ready' THEN status WHEN lease_age > $1 THEN 'silent'
				ELSE players || '/' || capacity END, ', ' ORDER BY instance) FILTER (WHERE region = $2), 'no game server'),
			coalesce(max(reserved_seats::float / capacity), 0),
			coalesce(string_agg(instance, ', ') FILTER (WHERE greatest(reserved_seats, players) > capacity), ''),
			coalesce((SELECT string_agg(name || ': ' || violations, ', ') FROM ops.invariants WHERE violations > 0), '')
		FROM ops.fleet`, leaseTTL/2, region).Scan(&fleet, &fullest, &over, &broken)
	if err := errors.Join(w.cluster.unexpectedExit(), err); err != nil {
		return err
	}
	w.tally.looks++
	w.tally.fullest, w.tally.overCapacity, w.tally.brokenInvariants = max(w.tally.fullest,
		fullest), cmp.Or(w.tally.overCapacity, over), cmp.Or(w.tally.brokenInvariants, broken)
	if time.Since(w.printed) > 3*time.Second {
		w.printed = time.Now()
		w.print(fleet)
	}
	return nil
}

func (w *watcher) print(fleet string) {
	for _, r := range w.cluster.replicas {
		if !w.cluster.process(r.Name).Running() {
			fleet += ", " + r.Name + " killed"
		}
	}
	playing, _ := w.players.count()
	w.screen.eventf(" ", "playing %d of %d: %s", playing, botCount, fleet)
}
