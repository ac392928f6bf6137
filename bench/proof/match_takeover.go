package proof

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/match"
)

// The trials of a takeover, by their names in the report.
const (
	takeoverSpread = "takeover, tickets spread over the profiles"
	takeoverInOne  = "takeover, all tickets in one profile"
)

// takeover is a trial: the only worker is killed beside many profiles and tickets that no rule matches, and started
// again. Then two players of each profile match.
type takeover struct {
	bed               *testbed
	store             *db.Store
	profiles, tickets int
}

// takeovers measures takeovers in a laboratory of their own.
func (o Options) takeovers(ctx context.Context) (all rounds, err error) {
	err = o.in(ctx, lab.Options{Worker: true, Env: []string{lab.KeepTickets}},
		func(ctx context.Context, b *testbed) error {
			store, err := db.Open(ctx, db.Config{URL: b.URL()})
			if err != nil {
				return err
			}
			defer store.Close()
			t := &takeover{bed: b, store: store, profiles: of(o, 1000, 10), tickets: of(o, 200_000, 500)}
			if err := t.applyProfiles(ctx); err != nil {
				return err
			}
			all, err = o.measure(ctx, b.settled(
				trial{takeoverSpread, func(ctx context.Context) (bench.Result, error) {
					return t.run(ctx, func(i int) int { return i % t.profiles })
				}},
				trial{takeoverInOne, func(ctx context.Context) (bench.Result, error) {
					return t.run(ctx,
						func(int) int { return 0 })
				}})...)
			return err
		})
	return all, err
}

const takeoverProfile = `name: takeover-%d
mode: takeover
attributes: {skill: {type: number}}
teams: [{name: red, players: 1}, {name: blue, players: 1}]
rules: [{near: skill, within: %d}]
`

func (t *takeover) applyProfiles(ctx context.Context) error {
	for i := range t.profiles {
		edit := db.ProfileEdit{Region: "global", Author: "director-bench"}
		if _, err := t.store.ApplyProfile(ctx, edit, fmt.Appendf(nil, takeoverProfile, i, takeoverNear),
			false); err != nil {
			return err
		}
	}
	return nil
}

// takeoverNear is the difference of skill that matches allow.
const takeoverNear = 100

// takeoverBegan is the age of the oldest strangers.
const takeoverBegan = time.Hour

// run kills and replaces the worker. The latency of the result is the time from the kill to the commit of the first
// match (p50) and to that of the first match of the last profile (max).
func (t *takeover) run(ctx context.Context, profileOf func(i int) int) (bench.Result, error) {
	if err := t.bed.sql(ctx, "match_takeover_clean.sql"); err != nil {
		return bench.Result{}, err
	}
	began := time.Now().Add(-takeoverBegan)
	strangers, err := t.rows(t.tickets, began,
		func(i int) (int, float64) { return profileOf(i), float64(10 * takeoverNear * (i + 10)) })
	if err == nil {
		err = t.queue(ctx, strangers)
	}
	if err == nil {
		_, err = t.store.Register(ctx, db.Registration{
			InstanceID: "takeover", Region: "eu", Endpoint: "takeover:7000", Modes: []string{"takeover"},
			Capacity: 100_000, BootID: uuid.NewString(),
		})
	}
	if err != nil {
		return bench.Result{}, err
	}
	return t.measure(ctx)
}

func (t *takeover) measure(ctx context.Context) (bench.Result, error) {
	pairs, err := t.rows(2*t.profiles, time.Now(), func(i int) (int, float64) { return i / 2, 0 })
	if err != nil {
		return bench.Result{}, err
	}
	clock, err := rowsOf[struct{ Now time.Time }](ctx, t.bed.pool, "match_takeover_now.sql")
	if err != nil {
		return bench.Result{}, err
	}
	if err := t.bed.KillWorker(ctx, func() error { return t.queue(ctx, pairs) }); err != nil {
		return bench.Result{}, err
	}
	first, each, err := t.matched(ctx, clock[0].Now)
	latency := bench.Latency{P50: first.Seconds() * 1000, Max: each.Seconds() * 1000}
	return bench.Result{
		Scenario: "takeover", Callers: 1, Tickets: t.tickets, Seconds: each.Seconds(),
		Figures: bench.Figures{Calls: int64(t.profiles), Errors: map[string]int64{},
			PerSecond: float64(t.profiles) / each.Seconds(), Latency: latency},
	}, err
}

// rows makes tickets of single players.
func (t *takeover) rows(n int, began time.Time, player func(i int) (profile int, skill float64)) ([][]any, error) {
	all := make([][]any, n)
	for i := range all {
		profile, skill := player(i)
		id, created := t.store.NewTicketID("global"), began.Add(time.Duration(i)*time.Microsecond)
		body, err := ticketbody.Encode(id, created, ticketbody.Draft{
			Profiles:   []string{fmt.Sprint("takeover-", profile)},
			Attributes: match.Attributes{"skill": {Kind: match.Number, Number: skill}},
			Players:    []match.Player{{Sub: "player-" + id}},
		})
		if err != nil {
			return nil, err
		}
		all[i] = []any{"global", id, created.UnixNano(), []uuid.UUID{}, []uuid.UUID{}, []float64{}, body}
	}
	return all, nil
}

func (t *takeover) queue(ctx context.Context, rows [][]any) error {
	columns := []string{"region", "id", "created", "terms", "double_keys", "doubles", "body"}
	_, err := t.bed.pool.CopyFrom(ctx, pgx.Identifier{"tickets"}, columns, pgx.CopyFromRows(rows))
	return err
}

// takeoverTimeout is far longer than a takeover may take.
const takeoverTimeout = time.Minute

var errNoTakeover = errors.New("not every profile has decided after a takeover")

// matchedProfiles are the profiles that have a match.
type matchedProfiles struct {
	Profiles       int
	Earliest, Last *time.Time // nil without any
}

// matched waits until each profile has a match that was decided after a moment.
func (t *takeover) matched(ctx context.Context, since time.Time) (first, each time.Duration, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, takeoverTimeout, errNoTakeover)
	defer cancel()
	for {
		rows, err := rowsOf[matchedProfiles](ctx, t.bed.pool, "match_takeover_matched.sql", since)
		switch {
		case err != nil:
			return 0, 0, errors.Join(err, context.Cause(ctx))
		case rows[0].Profiles == t.profiles:
			return rows[0].Earliest.Sub(since), rows[0].Last.Sub(since), nil
		}
		if err := wait(ctx, 50*time.Millisecond); err != nil {
			return 0, 0, errors.Join(err, context.Cause(ctx))
		}
	}
}

// takeoverFindings makes the findings about takeovers.
func (all rounds) takeoverFindings() (findings []Finding) {
	for _, name := range []string{takeoverSpread, takeoverInOne} {
		each := all.of(name, func(r bench.Result) float64 { return r.Latency.Max })
		first := atMost(name+": first match", all.of(name, p50), 2000, millis)
		findings = append(findings,
			noted(first, "after the only worker was killed and started again, beside %s profiles and %s tickets that no rule matches",
				inFull(float64(all[0][name].Calls)), inFull(float64(all[0][name].Tickets))),
			atMost(name+": every profile has decided", each, 5000, millis))
	}
	return findings
}
