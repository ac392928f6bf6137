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

	"github.com/lattice-director/director/examples/arena/bots"
)

// watcher looks on while all play: it feeds the screen, and tallies what must not be seen even once.
type watcher struct {
	cluster *cluster
	players *players
	chaos   *chaos
	screen  *screen
	end     func() // of the play

	fenced  bool // the killed server was seen to be given up
	settled bool // all its players play again
	late    bool // time was up before everything had happened
	tally
}

// serverRow is a game server as ops.fleet knows it.
type serverRow struct {
	Name, Status      string
	Alive             bool
	Silent            *time.Duration // since the last heartbeat; nil when it is gone
	Sessions, Players int
	Reserved          int // seats that its sessions take
	Capacity          int
}

// over says that somebody was promised a seat that is not there.
func (s serverRow) over() bool { return s.Reserved > s.Capacity || s.Players > s.Capacity }

// state is for people.
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

// brokenRow is an invariant that does not hold.
type brokenRow struct {
	Name       string
	Violations int
}

// view is what the ops views and the bots say at one moment.
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

// run looks until ctx ends, four times a second. An error is one of looking, or says that a process has died which nobody
// killed.
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
	if err := w.cluster.casualty(); err != nil {
		return err
	}
	v, err := w.look(ctx)
	if err != nil {
		return err
	}
	w.tally.add(v)
	if err := w.narrate(ctx, v); err != nil {
		return err
	}
	w.screen.show(v)
	w.endInTime()
	return nil
}

func (w *watcher) look(ctx context.Context) (v view, err error) {
	v, err = ask(ctx, w.cluster.db)
	stats := w.players.Stats()
	v.bots = len(stats.Bots)
	for _, n := range stats.Playing() {
		v.playing += n
	}
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
		FROM ops.fleet ORDER BY length(instance), instance`) // the error comes again from the rows
	v.servers, err = pgx.CollectRows(rows, pgx.RowToStructByPos[serverRow])
	matches := db.QueryRow(ctx, `SELECT (SELECT count(*) FROM ops.sessions) + (SELECT count(*) FROM ops.session_lifetimes)`).Scan(&v.matches)
	rows, _ = db.Query(ctx, `SELECT name, violations FROM ops.invariants WHERE violations > 0`)
	var broken error
	v.broken, broken = pgx.CollectRows(rows, pgx.RowToStructByPos[brokenRow])
	return v, errors.Join(err, matches, broken)
}

// tally is what all looks together have shown.
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

// narrate tells what the director did about the server that was killed.
func (w *watcher) narrate(ctx context.Context, v view) error {
	d := w.chaos.done()
	if d.server == "" || w.settled {
		return nil
	}
	gone := slices.ContainsFunc(v.servers, func(s serverRow) bool { return s.Name == d.server && s.Status == "gone" })
	if gone && !w.fenced {
		w.fenced = true
		w.screen.notef("·", "%s: lease expired; the director closes the matches there", d.server)
	}
	e, err := ledger{w.cluster.db}.eviction(ctx, d.server, d.serverKilledAt)
	if err == nil && e.over() {
		w.settled = true
		w.screen.notef("✓", "all %d players of %s play elsewhere, the last after %.1f s", e.players, d.server, e.slowest.Seconds())
	}
	return err
}

// endInTime ends the play when its time is up and everything has happened that is to be judged.
func (w *watcher) endInTime() {
	if time.Since(w.screen.begun) < w.cluster.options.length {
		return
	}
	missing := w.missing()
	if missing == "" {
		w.end()
	} else if !w.late {
		w.late = true
		w.screen.notef("·", "time is up, but not yet seen: %s", missing)
	}
}

// missing is what has not happened yet.
func (w *watcher) missing() string {
	d := w.chaos.done()
	waiting := slices.ContainsFunc(w.players.Stats().Bots, func(b bots.BotStats) bool { return len(b.Visits) == 0 })
	switch {
	case waiting:
		return "that every bot has played"
	case !d.all:
		return "all that was to happen"
	case !w.settled:
		return "that all players of " + d.server + " play elsewhere"
	case len(w.players.witness.testimonies(d.byReturned)) == 0:
		return "an answer of " + d.replica.Name + " after its return"
	}
	return ""
}
