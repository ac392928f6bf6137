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
	cluster    *cluster
	players    *players
	screen     *screen
	printedAt  time.Time
	fleetTally tally
}

// tally is the summary of all that the watcher saw.
type tally struct {
	lookCount        int
	fullestShare     float64 // the largest share of a server's seats that its sessions took
	overCapacity     string  // the servers over capacity at the first look that found any
	brokenInvariants string  // the broken invariants at the first look that found any
}

// runWatch looks until ctx ends. Errors: a query failed, or a process ended by itself.
func (w *watcher) runWatch(ctx context.Context) error {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		// After the end of ctx an error only says that the query was cut off.
		if err := w.lookOnce(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// lookOnce reads the fleet and the invariants once, and adds them to the tally.
func (w *watcher) lookOnce(ctx context.Context) error {
	var fleet, over, broken string
	var fullest float64
	err := w.cluster.dbPool.QueryRow(ctx, `
		SELECT coalesce(string_agg(instance || ' ' || CASE WHEN status <> 'ready' THEN status
				WHEN lease_age > $1 THEN 'silent'
				ELSE players || '/' || capacity END, ', ' ORDER BY instance) FILTER (WHERE region = $2), 'no game server'),
			coalesce(max(reserved_seats::float / capacity), 0),
			coalesce(string_agg(instance, ', ') FILTER (WHERE greatest(reserved_seats, players) > capacity), ''),
			coalesce((SELECT string_agg(name || ': ' || violations, ', ') FROM ops.invariants WHERE violations > 0), '')
		FROM ops.fleet`, leaseTTL/2, region).Scan(&fleet, &fullest, &over, &broken)
	// A process that died is the reason, and a failed query often its effect.
	if err := errors.Join(w.cluster.unexpectedExit(), err); err != nil {
		return err
	}
	w.fleetTally.lookCount++
	w.fleetTally.fullestShare = max(w.fleetTally.fullestShare, fullest)
	// The first of each is kept: later ones may follow from it.
	w.fleetTally.overCapacity = cmp.Or(w.fleetTally.overCapacity, over)
	w.fleetTally.brokenInvariants = cmp.Or(w.fleetTally.brokenInvariants, broken)
	if time.Since(w.printedAt) > 3*time.Second {
		w.printedAt = time.Now()
		w.printFleet(fleet)
	}
	return nil
}

func (w *watcher) printFleet(fleet string) {
	for _, r := range w.cluster.replicas {
		if !w.cluster.processNamed(r.command.Name).Running() {
			fleet += ", " + r.command.Name + " killed"
		}
	}
	playing, _ := w.players.countPlaying()
	w.screen.eventf(" ", "playing %d of %d: %s", playing, botCount, fleet)
}
