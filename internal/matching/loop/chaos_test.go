package loop_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/loop"
)

const teams = `
mode: arena
attributes: {skill: {type: number}}
teams: [{name: red, players: 2}, {name: blue, players: 2}]
rules: [{near: skill, within: 300, widen: [{after: 1s, within: any}]}]
`

// Workers whose database connection dies in the middle of anything, cancels and overlapping profiles: every ticket is
// in one match at most, every assigned player has exactly one seat, and no session holds more players than it has
// seats.
func TestTicketsSurviveKilledWorkers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.host("host-1", 4000, "arena")
	for i := range 3 {
		b.AddProfile(fmt.Sprint("teams-", i), teams)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var killing sync.WaitGroup
	for range 3 {
		killing.Go(func() {
			for ctx.Err() == nil {
				b.killedAfter(ctx, time.Duration(200+rand.N(600))*time.Millisecond)
			}
		})
	}
	var ids []string
	cancelled := 0
	for i := range 300 {
		players := party(fmt.Sprint("a-", i))
		if i%3 == 0 {
			players = append(players, fmt.Sprint("b-", i))
		}
		id := b.ticket(float64(rand.N(2000)), players, "teams-0", "teams-1", "teams-2")
		if i%20 == 0 {
			if c, err := b.CancelTicket(t.Context(), universe, id); err == nil && c.IsCancelled {
				cancelled++
			}
			continue
		}
		ids = append(ids, id)
	}
	b.Await("SELECT count(*) <= 3 FROM tickets")
	cancel()
	killing.Wait()
	assigned := b.Count("SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL")
	require.GreaterOrEqual(t, assigned, len(ids)-3)
	require.Equal(t, b.Count("SELECT count(DISTINCT sub) FROM seats"), b.Count("SELECT count(*) FROM seats"),
		"a player has two seats")
	require.Equal(t, b.Count("SELECT coalesce(sum(players), 0)::int FROM match_history"),
		b.Count("SELECT count(*) FROM seats"))
	require.Zero(t, b.Count("SELECT count(*) FROM sessions WHERE player_count > max_players OR player_count <> 4"))
	b.RequireInvariants()
}

// killedAfter runs a worker whose connections are closed after a while, as those of a process that is killed.
func (b *bundle) killedAfter(ctx context.Context, d time.Duration) {
	s, err := db.Open(context.WithoutCancel(ctx), db.Config{URL: b.URL, MaxConns: 4})
	if err != nil {
		b.t.Error(err)
		return
	}
	l, err := loop.New(loop.Options{Store: s, Universe: universe})
	if err != nil {
		b.t.Error(err)
		return
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() { defer close(done); l.Run(running) }()
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	s.Close()
	stop()
	<-done
}
