package proof

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/match"
)

// The arms of a takeover, by their names in the report.
const (
	takeoverSpread = "takeover, tickets spread over the profiles"
	takeoverInOne  = "takeover, all tickets in one profile"
)

// takeover is an arm: the only worker is killed beside many profiles and tickets that no rule matches, and started
// again. Then two players of each profile match.
type takeover struct {
	bed      *testbed
	store    *db.Store
	profiles int
	queued   int
}

// takeoverArms share their profiles, which are applied once: a new worker reads them at its start.
func takeoverArms(ctx context.Context, b *testbed) ([]arm, error) {
	t := &takeover{bed: b, profiles: choose(b.options, 1000, 10), queued: choose(b.options, 200_000, 500)}
	kill := func(name string, profileOf func(i int) int) arm {
		return arm{name: name, run: t.killWorker}.prepare(b.script("match_takeover_clean.sql"),
			func(ctx context.Context) error { return t.queueStrangers(ctx, profileOf) }, b.settle)
	}
	return []arm{
		kill(takeoverSpread, func(i int) int { return i % t.profiles }),
		kill(takeoverInOne, func(int) int { return 0 }),
	}, t.applyProfiles(ctx)
}

const takeoverProfile = `name: takeover-%d
mode: takeover
attributes: {skill: {type: number}}
teams: [{name: red, players: 1}, {name: blue, players: 1}]
rules: [{near: skill, within: %d}]
`

// takeoverNear is the difference of skill that matches allow.
const takeoverNear = 100

// applyProfiles applies the profiles with a store that lasts until the end of the laboratory.
func (t *takeover) applyProfiles(ctx context.Context) (err error) {
	if t.store, err = db.Open(ctx, db.Config{URL: t.bed.lab.URL()}); err != nil {
		return err
	}
	t.bed.closers = append(t.bed.closers, func() error { t.store.Close(); return nil })
	for i := range t.profiles {
		edit := db.ProfileEdit{Universe: "global", Author: "director-bench"}
		document := fmt.Appendf(nil, takeoverProfile, i, takeoverNear)
		if _, err := t.store.ApplyProfile(ctx, edit, document, false); err != nil {
			return err
		}
	}
	return nil
}

// queueStrangers queues players whom no rule matches, since an hour ago.
func (t *takeover) queueStrangers(ctx context.Context, profileOf func(i int) int) error {
	rows, err := t.rows(t.queued, time.Now().Add(-time.Hour), func(i int) (profile int, skill float64) {
		// far from one another, and from the pairs, whose skill is 0
		return profileOf(i), float64(10 * takeoverNear * (i + 10))
	})
	if err != nil {
		return err
	}
	return t.queue(ctx, rows)
}

// matchTimes are when the first match of the first and of the last profile was committed.
type matchTimes struct{ Earliest, Last time.Time }

// killWorker kills and replaces the worker. The latency of the result is the time from the kill to the commit of the
// first match (p50) and to that of the first match of the last profile (max).
func (t *takeover) killWorker(ctx context.Context) (bench.Result, error) {
	pairs, err := t.rows(2*t.profiles, time.Now(), func(i int) (profile int, skill float64) { return i / 2, 0 })
	if err != nil {
		return bench.Result{}, err
	}
	if err := t.register(ctx); err != nil {
		return bench.Result{}, err
	}
	// the clock of the database, which also dates the matches
	clock, err := awaitRow[struct{ Now time.Time }](ctx, t.bed.pool, time.Minute, "match_takeover_now.sql")
	if err != nil {
		return bench.Result{}, err
	}
	if err := t.bed.lab.KillWorker(ctx, func() error { return t.queue(ctx, pairs) }); err != nil {
		return bench.Result{}, err
	}
	got, err := awaitRow[matchTimes](ctx, t.bed.pool, time.Minute, "match_takeover_matched.sql", clock.Now, t.profiles)
	if err != nil {
		return bench.Result{}, err
	}
	r := bench.ResultOf("takeover", t.profiles, got.Last.Sub(clock.Now))
	r.Tickets, r.Latency.P50 = t.queued, float64(got.Earliest.Sub(clock.Now).Microseconds())/1000
	return r, nil
}

// register registers a game server with seats for everybody. It sends no heartbeats.
func (t *takeover) register(ctx context.Context) error {
	_, err := t.store.Register(ctx, db.Registration{
		InstanceID: "takeover", Region: "eu", Endpoint: "takeover:7000", Modes: []string{"takeover"}, Capacity: 100_000,
		BootID: uuid.NewString(),
	})
	return err
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

// queue inserts the rows of tickets, without the calls that would make each of them.
func (t *takeover) queue(ctx context.Context, rows [][]any) error {
	columns := []string{"region", "id", "created", "terms", "double_keys", "doubles", "body"}
	_, err := t.bed.pool.CopyFrom(ctx, pgx.Identifier{"tickets"}, columns, pgx.CopyFromRows(rows))
	return err
}

// takeoverClaims are two for each arm: p50 is the first match, and the maximum the last profile's.
func takeoverClaims() (claims []claim) {
	for _, arm := range []string{takeoverSpread, takeoverInOne} {
		claims = append(claims, claim{arm + ": first match", median(arm, p50), atMost(2000)},
			claim{arm + ": every profile has decided", median(arm, slowest), atMost(5000)})
	}
	return claims
}
