package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lattice-director/director/examples/arena/bots"
)

// look is how often the ops views are read, and the screen drawn.
const look = 250 * time.Millisecond

// watcher looks on while all play: it feeds the screen, tells the journal what the director did by itself, and tallies
// what must not be seen even once.
type watcher struct {
	cluster *cluster
	players *players
	chaos   *chaos
	journal *journal
	screen  screen

	end     func() // the play
	feed    *feed
	rates   []rate
	settled bool // all evicted players play again
	late    bool // time was up before everything had happened
	tally
}

// tally is what all samples together have shown.
type tally struct {
	samples int
	fullest serverRow
	over    []string // servers seen over capacity
	broken  []string // invariants seen broken
}

type rate struct {
	at         time.Time
	placements int
}

// run looks until ctx ends. An error is one of looking, or says that a process has died which nobody killed.
func (w *watcher) run(ctx context.Context) error {
	tick := time.NewTicker(look)
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
	s, err := takeSample(ctx, w.cluster.db)
	if err != nil {
		return err
	}
	w.tally.add(s)
	if err := w.narrate(ctx); err != nil {
		return err
	}
	w.screen.show(w.view(s))
	w.endInTime()
	return nil
}

// endInTime ends the play when its time is up and everything has happened that is to be judged.
func (w *watcher) endInTime() {
	if time.Since(w.journal.begun) < w.cluster.options.length {
		return
	}
	missing := w.missing()
	if missing == "" {
		w.end()
	} else if !w.late {
		w.late = true
		w.journal.sayf(calm, "time is up, but not yet seen: %s", missing)
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
		return "an answer of " + d.replica.name + " after its return"
	}
	return ""
}

func (t *tally) add(s sample) {
	t.samples++
	for _, server := range s.servers {
		if server.over() && !slices.Contains(t.over, server.Name) {
			t.over = append(t.over, server.Name)
		}
		if server.Reserved*t.fullest.Capacity >= t.fullest.Reserved*server.Capacity {
			t.fullest = server
		}
	}
	for _, b := range s.broken {
		if text := fmt.Sprintf("%s: %d", b.Name, b.Violations); !slices.Contains(t.broken, text) {
			t.broken = append(t.broken, text)
		}
	}
}

// narrate tells what the director did about the server that was killed.
func (w *watcher) narrate(ctx context.Context) error {
	events, err := w.feed.next(ctx)
	if err != nil {
		return err
	}
	for _, e := range events {
		if e.Kind == "instance.ended" {
			w.journal.sayf(calm, "%s: %s; the director closes the matches there", e.Instance, e.Reason)
		}
	}
	d := w.chaos.done()
	if d.server == "" || w.settled {
		return nil
	}
	e, err := ledger{w.cluster.db}.eviction(ctx, d.server, d.serverKilledAt)
	if err == nil && e.over() {
		w.settled = true
		w.journal.sayf(good, "all %d players of %s play elsewhere, the last after %.1f s", e.players, d.server, e.slowest.Seconds())
	}
	return err
}

// view is everything the screen shows.
func (w *watcher) view(s sample) view {
	stats := w.players.Stats()
	v := view{
		elapsed: time.Since(w.journal.begun), length: w.cluster.options.length, sample: s, bots: len(stats.Bots),
		rate: w.rate(s.placements), events: w.journal.all(), worker: w.cluster.worker.running(),
	}
	for _, b := range stats.Bots {
		if b.Playing {
			v.playing++
		}
	}
	total := stats.Total()
	v.rejoins = total.Rejoins + total.Moves
	for _, r := range w.cluster.replicas {
		v.replicas = append(v.replicas, replicaView{
			name: r.name, running: r.process().running(), ready: r.ready.Load(), answers: w.players.witness.answered(r.host()),
		})
	}
	return v
}

// rate is seats given a second over the last five.
func (w *watcher) rate(placements int) float64 {
	now := time.Now()
	w.rates = append(w.rates, rate{now, placements})
	for len(w.rates) > 1 && now.Sub(w.rates[0].at) > 5*time.Second {
		w.rates = w.rates[1:]
	}
	first := w.rates[0]
	if seconds := now.Sub(first.at).Seconds(); seconds > 0 {
		return float64(placements-first.placements) / seconds
	}
	return 0
}
