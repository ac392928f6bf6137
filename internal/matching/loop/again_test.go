package loop_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/loop"
	"github.com/lattice-director/director/internal/testkit/background"
)

// elsewhere is duel with a mode that the host "field" offers.
const elsewhere = `
mode: field
attributes: {skill: {type: number}}
teams: [{name: red, players: 1}, {name: blue, players: 1}]
rules: [{near: skill, within: 100}]
`

// waitsForServer is a worker with a match of ada and bo that waits for a server of profile duel, beside a host of
// another mode.
func waitsForServer(t *testing.T, profiles ...string) *bundle {
	t.Helper()
	b := setup(t)
	b.host("small", 1, "arena")
	b.host("field", 100, "field")
	b.AddProfile("duel", duel)
	b.worker()
	for _, sub := range []string{"ada", "bo"} {
		b.ticket(1000, party(sub), profiles...)
	}
	b.Eventually(2, "SELECT count(*) FROM ticket_events WHERE state = 'waiting_for_server'")
	return b
}

// Pins tickets that waited for ever: their match waited for a server while a new version began to decide, and was
// dropped then.
func TestTicketsOfADroppedMatchAreCandidatesOfANewVersion(t *testing.T) {
	t.Parallel()
	b := waitsForServer(t, "duel")
	b.AddProfile("duel", elsewhere)
	b.Eventually(2, "SELECT count(*) FROM seats WHERE sub IN ('ada', 'bo')")
	b.RequireInvariants()
}

// Pins tickets that a profile never saw: matches of another profile held them when it began to decide.
func TestTicketsOfAnotherProfilesMatchesAreCandidates(t *testing.T) {
	t.Parallel()
	b := waitsForServer(t, "duel", "later")
	b.AddProfile("later", elsewhere)
	b.Eventually(2, "SELECT count(*) FROM seats WHERE sub IN ('ada', 'bo')")
	b.RequireInvariants()
}

// Pins ready checks that a version began and that nobody committed once the next version asked no players.
func TestReadyChecksOutlastTheirVersion(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.host("host-1", 100, "arena")
	b.AddProfile("duel", "accept: {within: 45s}\n"+duel)
	b.worker()
	ada, bo := b.ticket(1000, party("ada"), "duel"), b.ticket(1000, party("bo"), "duel")
	b.Eventually(2, "SELECT count(*) FROM ticket_events WHERE state = 'accepting'")
	b.AddProfile("duel", duel)
	// The new version decides once players who suit nobody else have a match of it.
	pairs := 0
	require.Eventually(t, func() bool {
		for i := range 2 {
			b.ticket(float64(10_000+1000*pairs), party(fmt.Sprint("pair-", pairs, "-", i)), "duel")
		}
		pairs++
		return b.Count("SELECT count(*) FROM match_history WHERE profile = $1 AND version = $2", "duel", 2) > 0
	}, 20*time.Second, 50*time.Millisecond)
	for sub, id := range map[string]string{"ada": ada, "bo": bo} {
		_, err := b.AnswerReadyCheck(t.Context(), universe,
			db.ReadyCheckAnswer{TicketID: id, PlayerSub: sub, Accept: true})
		require.NoError(t, err)
	}
	b.Eventually(2, "SELECT count(*) FROM seats WHERE sub IN ('ada', 'bo')")
	b.RequireInvariants()
}

// Pins players who saw for ever that they wait for a server: one came, and their match was refused nevertheless.
func TestPlayersOfARefusedMatchAreQueued(t *testing.T) {
	t.Parallel()
	b := waitsForServer(t, "duel")
	seat, err := b.Place(t.Context(), db.PlaceRequest{Caller: "ada", Region: region, Mode: "arena", Party: party("ada"),
		MaxPlayers: 1})
	require.NoError(t, err)
	_, err = b.Resolve(t.Context(), seat.SessionHandle, "ada")
	require.NoError(t, err)
	b.host("host-1", 100, "arena")
	b.Eventually(2, "SELECT count(*) FROM ticket_events WHERE state = 'queued' AND n > 1")
	require.Equal(t, 2, b.Count("SELECT count(*) FROM tickets"))
}

// watched counts how often the changes of the queue are read, and notes whether two readings share their time.
type watched struct {
	*db.Store

	reads  atomic.Int64
	clocks atomic.Int64              // readings of the clock: some in each step
	until  atomic.Pointer[time.Time] // the last reading
	shared atomic.Bool
}

func (s *watched) CandidatesSince(ctx context.Context, universe string,
	since db.FeedPoint) (db.CandidatePage, error) {
	s.reads.Add(1)
	until, _ := ctx.Deadline()
	s.until.Store(&until)
	return s.Store.CandidatesSince(ctx, universe, since)
}

func (s *watched) SettledSince(ctx context.Context, region string, since db.FeedPoint) (db.SettledPage, error) {
	if until, ok := ctx.Deadline(); ok && s.until.Load() != nil && until.Equal(*s.until.Load()) {
		s.shared.Store(true)
	}
	return s.Store.SettledSince(ctx, region, since)
}

func (s *watched) Now() time.Time {
	s.clocks.Add(1)
	return s.Store.Now()
}

// Pins a loop that began anew without end: decisions between two readings of one step took the time of the second one.
func TestEachReadingHasItsOwnTime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.host("host-1", 100, "arena")
	b.AddProfile("duel", duel)
	s := &watched{Store: b.store()}
	b.worker(func(o *loop.Options) { o.Store = s })
	b.ticket(1000, party("ada"), "duel")
	b.ticket(1000, party("bo"), "duel")
	b.Eventually(2, "SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL")
	require.False(t, s.shared.Load())
}

// leaseUntil returns the end of the only worker's lease.
func (b *bundle) leaseUntil() (until time.Time) {
	b.t.Helper()
	require.NoError(b.t, b.Pool().QueryRow(b.t.Context(), "SELECT lease_until FROM loop_workers").Scan(&until))
	return until
}

// Pins a loop that never slept while a profile had as many ready checks as it may have, and something to decide.
func TestALoopThatMayNotDecideSleeps(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.host("host-1", 2000, "arena")
	b.AddProfile("duel", "accept: {within: 45s}\n"+duel[:len(duel)-3]+", widen: [{after: 1s, within: 200}]}]\n")
	for i := range 600 {
		b.ticket(1000, party(fmt.Sprint("player-", i)), "duel")
	}
	s := &watched{Store: b.store()}
	b.worker(func(o *loop.Options) { o.Store = s })
	b.Eventually(256, "SELECT count(DISTINCT match_id) FROM ticket_events WHERE state = 'accepting'")
	before := s.reads.Load()
	b.Eventually(1, "SELECT count(*) FROM loop_workers WHERE lease_until > $1", b.leaseUntil().Add(2*time.Second))
	require.Less(t, s.reads.Load()-before, int64(100), "it looks at the owners four times a second")
}

// Pins a loop that took a whole CPU from its first minute on where no profile was: a comparison of the queue was due,
// and nothing was there to compare.
func TestALoopWithoutProfilesSleeps(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := &watched{Store: b.store()}
	l := b.loop(func(o *loop.Options) { o.Store = s })
	l.ReconcileEvery(50 * time.Millisecond)
	background.Loop(t, l.Run)
	b.Eventually(1, "SELECT count(*) FROM loop_workers WHERE lease_until > now()")
	began, before := time.Now(), s.clocks.Load()
	b.Eventually(1, "SELECT count(*) FROM loop_workers WHERE lease_until > $1", b.leaseUntil().Add(2*time.Second))
	steps := float64(s.clocks.Load()-before) / time.Since(began).Seconds()
	require.Less(t, steps, 250.0, "readings of the clock in a second: it compares 20 times, and looks at the owners four")
}
