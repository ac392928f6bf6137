package loop_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/loop"
	"github.com/lattice-director/director/internal/ticketbody"
	"github.com/lattice-director/director/internal/whatif"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
	"github.com/lattice-director/director/match/replay"
)

const trios = `
mode: arena
attributes: {skill: {type: number}}
teams: [{name: red, players: 3}, {name: blue, players: 3}]
rules: [{near: skill, within: 60, widen: [{after: 300ms, within: 150}, {after: 1s, within: 400}]}, {balance: skill, teams: mean, within: 40}]
`

// A replay of the version that ran makes the matches that it made: of the same tickets, in the same teams. Pins decisions at moments
// that nothing records, and rounds of the engine that depend on what was decided long ago.
func TestAReplayMakesTheSameMatches(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.host("host-1", 5000, "arena")
	b.profile("trios", trios)
	l := b.loop(func(o *loop.Options) { o.Lease = time.Minute }) // a worker that loses its lease begins anew, with another seed
	l.Unhurried()
	stop := b.run(l)
	random := rand.New(rand.NewPCG(1, 2))
	n := 0
	queue := func() {
		members := party(fmt.Sprint("player-", n, "-a"), fmt.Sprint("player-", n, "-b"), fmt.Sprint("player-", n, "-c"))[:1+n%3]
		b.ticket(float64(1200+random.IntN(600)), members, "trios")
		n++
	}
	for range 6 { // the worker knows the game regions once a match is committed
		b.ticket(5000, party(fmt.Sprint("early-", n)), "trios")
		n++
	}
	b.eventually(6, "SELECT count(*) FROM ticket_history")
	from := b.Now()
	for n < 400 {
		queue()
	}
	matches := 0
	require.Eventually(t, func() bool { // nothing changes any more
		before := matches
		matches = b.count("SELECT count(*) FROM match_history")
		return matches == before && matches > 100
	}, 20*time.Second, 1500*time.Millisecond)
	stop()
	b.cancelWaiting(l.SeenAt())
	report := b.replay("trios", from)
	t.Log(whatif.Verdict(report), whatif.FirstDifference(report))
	require.Greater(t, report.Reproduced.SameRules, 90)
	// All of them, but for one in about a thousand on a busy machine.
	require.GreaterOrEqual(t, report.Reproduced.FromSame*100, report.Reproduced.SameRules*97)
	require.Equal(t, 1, report.Reproduced.Owners)
}

// cancelWaiting cancels the tickets that wait: a ticket enters the history when it leaves the queue, and those that wait have a part in
// each search. The history does not say when the worker saw a ticket that was cancelled, so the test adds it.
func (b *bundle) cancelWaiting(seenAt map[string]time.Time) {
	b.t.Helper()
	for id, seen := range seenAt {
		var sub string
		require.NoError(b.t, b.sql.QueryRow(b.t.Context(), "SELECT min(sub) FROM ticket_players WHERE ticket_id = $1", id).Scan(&sub))
		_, err := b.CancelPlayerTicket(b.t.Context(), universe, id, sub)
		require.NoError(b.t, err)
		changed, err := b.sql.Exec(b.t.Context(), "UPDATE ticket_history SET seen_at = $2 WHERE id = $1", id, seen)
		require.NoError(b.t, err)
		require.EqualValues(b.t, 1, changed.RowsAffected())
	}
}

// replay replays the live version of a profile from then on.
func (b *bundle) replay(name string, from time.Time) *replay.Report {
	b.t.Helper()
	in, err := whatif.Past(b.t.Context(), b.Store, db.Past{Region: universe, Profile: name, From: from, To: b.Now()}, b.rules(name))
	require.NoError(b.t, err)
	report, err := replay.Run(b.t.Context(), in)
	require.NoError(b.t, err)
	return report
}

func (b *bundle) rules(name string) decide.Version {
	b.t.Helper()
	stored, err := b.Profile(b.t.Context(), universe, name, 0)
	require.NoError(b.t, err)
	p, err := profile.Parse([]byte(stored.Document))
	require.NoError(b.t, err)
	return decide.Version{Profile: p, Number: stored.Version}
}

// A history that has not what the rules compare is refused, with the setting that says so.
func TestWhatAHistoryCannotReplay(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*loop.Options){
		`attribute "skill", which`:       func(o *loop.Options) { o.Privacy = ticketbody.Hashed },
		"the history has no attributes":  func(o *loop.Options) { o.Privacy = ticketbody.NoAttributes },
		"there is no history of tickets": func(o *loop.Options) { o.NoHistory = true },
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.host("host-1", 100, "arena")
			b.profile("duel", duel)
			b.worker(change)
			b.ticket(1000, party("ada"), "duel")
			b.ticket(1000, party("bo"), "duel")
			b.eventually(2, "SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL")
			in, err := whatif.Past(t.Context(), b.Store, db.Past{Region: universe, Profile: "duel", From: time.Now().Add(-time.Hour), To: b.Now()}, b.rules("duel"))
			if err == nil {
				_, err = replay.Run(t.Context(), in)
			}
			require.ErrorContains(t, err, want)
			require.ErrorContains(t, err, "DIRECTOR_MATCH_HISTORY")
		})
	}
}
