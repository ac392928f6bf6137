package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// watcher reads the ops views during the play: it updates the screen, and records violations.
type watcher struct {
	cluster *cluster
	players *players
	screen  *screen
	tally
}

// serverRow is a game server in ops.fleet.
type serverRow struct {
	Name, Status      string
	Alive             bool
	Silent            *time.Duration // since the last heartbeat; nil when it is gone
	Sessions, Players int
	Reserved          int // seats that its sessions take
	Capacity          int
}

// over reports whether more seats are taken than there are.
func (s serverRow) over() bool { return s.Reserved > s.Capacity || s.Players > s.Capacity }

// state is the status as people read it.
func (s serverRow) state() string {
	if s.Status != "gone" && s.Silent != nil && *s.Silent > leaseTTL/2 {
		return fmt.Sprintf("silent %.1fs", s.Silent.Seconds())
	}
	return s.Status
}

// bar shows seats taken, seats open in matches, and seats free for more matches.
func (s serverRow) bar() string {
	const width = 24
	at := func(n int) int { return min(width, (n*width+s.Capacity/2)/s.Capacity) }
	players, reserved := at(s.Players), at(max(s.Reserved, s.Players))
	return strings.Repeat("█", players) + strings.Repeat("▒", reserved-players) + strings.Repeat("·", width-reserved)
}

// brokenRow is a violated invariant.
type brokenRow struct {
	Name       string
	Violations int
}

// view is the state of the ops views and the bots at one moment.
type view struct {
	servers                []serverRow
	broken                 []brokenRow
	matches                int
	playing, bots, rejoins int
	replicas               []string
}

// String is a line of progress.
func (v view) String() string {
	alive := 0
	for _, s := range v.servers {
		if s.Alive {
			alive++
		}
	}
	return fmt.Sprintf("playing %d of %d, %d servers, replicas %s, %d matches, %d rejoins",
		v.playing, v.bots, alive, strings.Join(v.replicas, " and "), v.matches, v.rejoins)
}

// run looks four times a second until ctx ends. Errors: a query failed, or a process ended by itself.
func (w *watcher) run(ctx context.Context) error {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := w.once(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (w *watcher) once(ctx context.Context) error {
	if err := w.cluster.unexpectedExit(); err != nil {
		return err
	}
	v, err := w.look(ctx)
	if err != nil {
		return err
	}
	w.tally.add(v)
	w.screen.show(v)
	return nil
}

func (w *watcher) look(ctx context.Context) (v view, err error) {
	v, err = ask(ctx, w.cluster.db)
	stats := w.players.Stats()
	v.bots = len(stats.Bots)
	v.playing = w.players.playing()
	total := stats.Total()
	v.rejoins = total.Rejoins + total.Moves
	for _, r := range w.cluster.replicas {
		state := "ready"
		if !w.cluster.process(r.Name).Running() {
			state = "killed"
		}
		v.replicas = append(v.replicas, state)
	}
	return v, err
}

func ask(ctx context.Context, db *pgxpool.Pool) (v view, err error) {
	rows, _ := db.Query(ctx, `
		SELECT instance, status, alive, lease_age, open_sessions, players::int, reserved_seats, capacity
		FROM ops.fleet ORDER BY length(instance), instance`) // CollectRows returns the error
	v.servers, err = pgx.CollectRows(rows, pgx.RowToStructByPos[serverRow])
	matches := db.QueryRow(ctx, `SELECT (SELECT count(*) FROM ops.sessions) + (SELECT count(*) FROM ops.session_lifetimes)`).Scan(&v.matches)
	rows, _ = db.Query(ctx, `SELECT name, violations FROM ops.invariants WHERE violations > 0`)
	var broken error
	v.broken, broken = pgx.CollectRows(rows, pgx.RowToStructByPos[brokenRow])
	return v, errors.Join(err, matches, broken)
}

// tally is the summary of all views.
type tally struct {
	looks   int
	fullest serverRow
	over    []string // servers seen over capacity
	broken  []string // invariants seen broken
}

func (t *tally) add(v view) {
	t.looks++
	for _, server := range v.servers {
		if server.over() && !slices.Contains(t.over, server.Name) {
			t.over = append(t.over, server.Name)
		}
		if server.Reserved*t.fullest.Capacity >= t.fullest.Reserved*server.Capacity {
			t.fullest = server
		}
	}
	for _, b := range v.broken {
		if text := fmt.Sprintf("%s: %d", b.Name, b.Violations); !slices.Contains(t.broken, text) {
			t.broken = append(t.broken, text)
		}
	}
}
