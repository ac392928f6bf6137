package loop_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/loop"
	"github.com/lattice-director/director/internal/matching/replayer"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/must"
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

// A replay of the version that ran makes the matches that it made: of the same tickets, in the same teams. Pins
// decisions at moments that nothing records, rounds of the engine that depend on what was decided long ago, tickets
// that were cancelled, which left when the worker learned of it, and tickets that wait, which are in no history and
// have a part in each search.
func TestAReplayMakesTheSameMatches(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.host("host-1", 5000, "arena")
	b.AddProfile("trios", trios)
	// a worker that loses its lease begins anew, with another seed
	l := b.loop(func(o *loop.Options) { o.Lease = time.Minute })
	l.Unhurried()
	background.Loop(b.t, l.Run)
	for n := range 6 { // the worker knows the game regions once a match is committed
		b.ticket(5000, party(fmt.Sprint("early-", n)), "trios")
	}
	b.Eventually(6, "SELECT count(*) FROM ticket_history")
	from, random, matches := b.Now(), rand.New(rand.NewPCG(1, 2)), 0
	for n := range 400 {
		members := party(fmt.Sprint("player-", n, "-a"), fmt.Sprint("player-", n, "-b"),
			fmt.Sprint("player-", n, "-c"))[:1+n%3]
		b.ticket(float64(1200+random.IntN(600)), members, "trios")
		if n%100 == 99 {
			decided := matches // there are more matches, and then no more
			require.Eventually(t, func() bool {
				before := matches
				matches = b.Count("SELECT count(*) FROM match_history")
				return matches == before && matches > decided
			}, 20*time.Second, 1500*time.Millisecond)
			// while nothing is decided: of a match that loses a ticket under way, nothing records when the others
			// returned
			for i, row := range b.Rows("SELECT ticket_id, min(sub) FROM ticket_players GROUP BY 1 ORDER BY 1") {
				if id, sub, _ := strings.Cut(row, "|"); i%3 == 0 {
					must.Get(b.CancelPlayerTicket(t.Context(), universe, id, sub))(t)
				}
			}
		}
	}
	require.Positive(t, b.Count("SELECT count(*) FROM tickets"), "some wait")
	b.Eventually(0, "SELECT count(*) FROM tickets WHERE seen_at IS NULL")
	b.Eventually(0, "SELECT count(*) FROM ticket_history WHERE outcome = 'cancelled' AND (seen_at IS NULL OR left_seen_at IS NULL)")
	b.Eventually(0, `SELECT count(*) FROM match_history m
		WHERE cardinality(m.tickets) <> (SELECT count(*) FROM ticket_history h WHERE h.match_id = m.id)`)
	report := b.replay("trios", from)
	t.Log(replayer.Verdict(report), replayer.FirstDifference(report))
	require.Greater(t, report.Reproduced.SameRules, 90)
	require.Equal(t, report.Reproduced.SameRules, report.Reproduced.FromSame, replayer.FirstDifference(report))
	require.Equal(t, 1, report.Reproduced.Owners)
}

// replay replays the live version of a profile from then on.
func (b *bundle) replay(name string, from time.Time) *replay.Report {
	b.t.Helper()
	in := must.Get(replayer.Input(b.t.Context(), b.Store,
		db.PastRange{Region: universe, ProfileName: name, From: from, Until: b.Now()}, b.rules(name),
		replayer.Recording{}))(b.t)
	return must.Get(replay.Run(b.t.Context(), in))(b.t)
}

func (b *bundle) rules(name string) decide.Version {
	b.t.Helper()
	stored := must.Get(b.Profile(b.t.Context(), universe, name, 0))(b.t)
	p := must.Get(profile.Parse([]byte(stored.Document)))(b.t)
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
			b.AddProfile("duel", duel)
			stop := b.worker(change)
			b.ticket(1000, party("ada"), "duel")
			b.ticket(1000, party("bo"), "duel")
			b.Eventually(2, "SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL")
			stop() // it has written the history then
			in, err := replayer.Input(t.Context(), b.Store,
				db.PastRange{Region: universe, ProfileName: "duel", From: time.Now().Add(-time.Hour), Until: b.Now()},
				b.rules("duel"), replayer.Recording{})
			if err == nil {
				_, err = replay.Run(t.Context(), in)
			}
			require.ErrorContains(t, err, want)
			require.ErrorContains(t, err, "DIRECTOR_MATCH_HISTORY")
		})
	}
}
