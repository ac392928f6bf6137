package loop_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/loop"
	"github.com/lattice-director/director/internal/testkit/metrictest"
)

const duel = `
mode: arena
attributes: {skill: {type: number}}
teams: [{name: red, players: 1}, {name: blue, players: 1}]
rules: [{near: skill, within: 100}]
`

// A match is committed with its session, its seats and its assignments, or not at all.
func TestAMatchIsCommittedWhole(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.host("host-1", 100, "arena")
	b.AddProfile("duel", duel)
	b.worker()
	b.ticket(1000, party("ada"), "duel")
	b.ticket(1050, party("bo"), "duel")
	b.ticket(2000, party("cy"), "duel")
	b.Eventually(2, "SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL")
	require.Equal(t, 1, b.Count("SELECT count(*) FROM sessions WHERE match_id IS NOT NULL AND player_count = 2"))
	require.Equal(t, 2, b.Count("SELECT count(*) FROM seats WHERE team IN ('red', 'blue') AND match_id IS NOT NULL"))
	require.Equal(t, 1, b.Count("SELECT count(*) FROM tickets"), "nobody plays within 100 of cy")
	require.Equal(t, 1, b.Count("SELECT count(*) FROM match_history"))
	b.RequireInvariants()
}

// Players who come before any server keep their place, and are seated in the order in which they waited.
func TestMatchesWaitForAServer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.host("small", 1, "arena") // its region offers the mode, without room
	b.AddProfile("duel", duel)
	b.worker()
	for i := range 6 {
		b.ticket(1000, party(fmt.Sprint("player-", i)), "duel")
	}
	b.Eventually(6, "SELECT count(*) FROM ticket_events WHERE state = 'waiting_for_server'")
	b.Eventually(3, "SELECT coalesce(sum(matches), 0)::int FROM demand")
	b.host("host-1", 100, "arena")
	b.Eventually(6, "SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL")
	b.Eventually(0, "SELECT count(*) FROM demand")
	b.RequireInvariants()
}

// Pins demand that stays for ever: of an owner that died while matches waited, and of a profile that was retired.
func TestDemandOfFormerOwnersEnds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.host("small", 1, "arena")
	b.AddProfile("duel", duel)
	b.Exec(`INSERT INTO demand (region, mode, key, matches, players)
		VALUES ('eu', 'arena', 'duel/2', 7, 14), ('eu', 'arena', 'gone/2', 1, 2)`)
	b.worker()
	b.Eventually(0, "SELECT count(*) FROM demand")
	for i := range 2 {
		b.ticket(1000, party(fmt.Sprint("player-", i)), "duel")
	}
	b.Eventually(1, "SELECT coalesce(sum(matches), 0)::int FROM demand")
	_, err := b.RetireProfile(t.Context(), db.ProfileEdit{Universe: universe, Name: "duel"})
	require.NoError(t, err)
	b.Eventually(0, "SELECT count(*) FROM demand")
}

// Pins matches that were decided before there was any game region, and that waited for half a minute after the first
// server came.
func TestMatchesWaitForAGameRegion(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddProfile("duel", duel)
	b.worker()
	for i := range 4 {
		b.ticket(1000, party(fmt.Sprint("player-", i)), "duel")
	}
	b.Eventually(4, "SELECT count(*) FROM ticket_events WHERE state = 'waiting_for_server'")
	b.Eventually(1, "SELECT count(*) FROM ops.demand WHERE region = '' AND mode = 'arena' AND profile = 'duel' AND seats = 2 AND matches = 2 AND players = 4")
	b.host("host-1", 100, "arena")
	b.Eventually(4, "SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL")
	b.Eventually(0, "SELECT count(*) FROM demand")
	b.RequireInvariants()
}

// Pins matches without demand: while no server offers the mode anywhere, the row names the region nearest to the
// players, or the best of those that the profile lists.
func TestDemandBeforeTheFirstServer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddProfile("near", duel)
	b.AddProfile("listed", "regions: [ap, eu]\n"+duel)
	b.AddProfile("limited", "regions: [eu, us]\n"+strings.TrimSpace(duel)[:len(strings.TrimSpace(duel))-1]+
		", {latency: 60ms}]\n")
	b.worker()
	for _, profile := range []string{"near", "listed", "limited"} {
		for _, sub := range []string{"ada", "bo"} {
			b.measured(map[string]uint16{"eu": 90, "us": 40}, sub+"-"+profile, profile)
		}
	}
	b.Eventually(3, "SELECT count(*) FROM demand WHERE matches = 1 AND key LIKE '%/2/global'")
	require.Equal(t, 1, b.Count("SELECT count(*) FROM ops.demand WHERE profile = 'near' AND region = 'us'"))
	require.Equal(t, 1, b.Count("SELECT count(*) FROM ops.demand WHERE profile = 'listed' AND region = 'eu'"),
		"nobody measured ap")
	require.Equal(t, 1, b.Count("SELECT count(*) FROM ops.demand WHERE profile = 'limited' AND region = 'us'"))
	b.host("host-1", 100, "arena")
	b.Eventually(4, "SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL")
	b.Eventually(1, "SELECT count(*) FROM demand WHERE key = 'limited/2/global' OR region = 'us'")
}

// Pins demand of two universes that overwrote each other.
func TestDemandOfTwoUniverses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddProfile("duel", duel)
	demand := func(matches int) []db.Demand {
		return []db.Demand{{Region: "eu", Mode: "arena", Key: "duel/2/global", MatchCount: matches,
			PlayerCount: 2 * matches}}
	}
	other := []db.Demand{{Region: "eu", Mode: "arena", Key: "duel/2/other", MatchCount: 7, PlayerCount: 14}}
	require.NoError(t, b.PutDemand(t.Context(), "global", []string{"duel"}, demand(2)))
	require.NoError(t, b.PutDemand(t.Context(), "other", []string{"duel"}, other))
	require.NoError(t, b.PutDemand(t.Context(), "global", []string{"duel"}, demand(1)))
	require.Equal(t, 2, b.Count("SELECT count(*) FROM ops.demand WHERE matches IN (1, 7)"))
	require.NoError(t, b.PutDemand(t.Context(), "global", []string{"duel"}, nil))
	require.Equal(t, 1, b.Count("SELECT count(*) FROM ops.demand WHERE universe = 'other'"))
}

// Workers share the profiles, and match each ticket once although every profile takes it.
func TestWorkersShareTheQueue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.host("host-1", 1000, "arena")
	for i := range 4 {
		b.AddProfile(fmt.Sprint("duel-", i), duel)
	}
	for range 3 {
		b.worker()
	}
	for i := range 100 {
		b.ticket(1000, party(fmt.Sprint("player-", i)), "duel-0", "duel-1", "duel-2", "duel-3")
	}
	b.Eventually(100, "SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL")
	require.Equal(t, 50, b.Count("SELECT count(*) FROM sessions"))
	require.Equal(t, 100, b.Count("SELECT count(DISTINCT sub) FROM seats"))
	b.RequireInvariants()
}

// A worker whose process dies loses nothing: another takes its profiles over.
func TestAProfileIsTakenOver(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.host("host-1", 1000, "arena")
	b.AddProfile("duel", duel)
	stop := b.worker()
	b.ticket(1000, party("ada"), "duel")
	b.Eventually(1, "SELECT count(*) FROM profile_owners o JOIN loop_workers w ON w.id = o.worker")
	b.worker()
	stop()
	b.ticket(1000, party("bo"), "duel")
	b.Eventually(2, "SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL")
	b.Eventually(2, "SELECT epoch::int FROM profile_owners")
	b.RequireInvariants()
}

// How long tickets waited is recorded for each profile, and the next owner begins with it.
func TestWaitingTimesAreRecorded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.host("host-1", 1000, "arena")
	b.AddProfile("duel", duel)
	stop := b.worker()
	for i := range 40 {
		b.ticket(float64(1000*(i/2)), party(fmt.Sprint("player-", i)), "duel")
	}
	b.Eventually(40, "SELECT coalesce(sum(samples), 0)::int FROM profile_stats WHERE p50 BETWEEN '0' AND p90 AND p90 < '1 minute'")
	require.Equal(t, 2, b.Count("SELECT count(*) FROM profile_stats WHERE (decile, upto) IN ((0, 9000), (1, 19000))"))
	stop()
	b.worker()
	b.ticket(500, party("ada"), "duel")
	b.ticket(500, party("bo"), "duel")
	b.Eventually(42, "SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL")
	require.Equal(t, 40, b.Count("SELECT coalesce(sum(samples), 0)::int FROM profile_stats"),
		"two waits are no estimate yet: those of the owner before stay")
}

// Players of a ready check are seated once all have accepted, and a party that declines leaves the queue without the
// others.
func TestPlayersAreAskedFirst(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.host("host-1", 100, "arena")
	b.AddProfile("duel", "accept: {within: 40s}\n"+duel)
	metrics := prometheus.NewRegistry()
	b.worker(func(o *loop.Options) { o.Metrics = metrics })
	ada, bo := b.ticket(1000, party("ada"), "duel"), b.ticket(1000, party("bo"), "duel")
	b.Eventually(2, "SELECT count(*) FROM ticket_events WHERE state = 'accepting'")
	require.Zero(t, b.Count("SELECT count(*) FROM seats"), "no seats before everybody accepted")
	_, err := b.AnswerReadyCheck(t.Context(), universe,
		db.ReadyCheckAnswer{TicketID: ada, PlayerSub: "ada", Accept: true})
	require.NoError(t, err)
	_, err = b.AnswerReadyCheck(t.Context(), universe, db.ReadyCheckAnswer{TicketID: bo, PlayerSub: "bo"})
	require.NoError(t, err)
	b.Eventually(1, "SELECT count(*) FROM ticket_events WHERE state = 'declined'")
	cy := b.ticket(1000, party("cy"), "duel")
	b.Eventually(4, "SELECT count(*) FROM ticket_events WHERE state = 'accepting'")
	for sub, id := range map[string]string{"ada": ada, "cy": cy} {
		_, err := b.AnswerReadyCheck(t.Context(), universe,
			db.ReadyCheckAnswer{TicketID: id, PlayerSub: sub, Accept: true})
		require.NoError(t, err)
	}
	b.Eventually(2, "SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL")
	b.RequireInvariants()
	require.Eventually(t, func() bool { return metrictest.Sum(t, metrics, "director_loop_accept_total") == 2 },
		20*time.Second, 20*time.Millisecond, "one accepted, one failed")
	require.Less(t, metrictest.Sum(t, metrics, "director_loop_feed_lag_seconds"), 20.0)
	require.Zero(t, metrictest.Sum(t, metrics, "director_loop_unowned_profiles"))
}

// Pins thousands of ready checks that begin within one second.
func TestReadyChecksAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.host("host-1", 2000, "arena")
	b.AddProfile("duel", "accept: {within: 45s}\n"+duel)
	for i := range 600 {
		b.ticket(1000, party(fmt.Sprint("player-", i)), "duel")
	}
	b.worker()
	const asked = "SELECT count(DISTINCT match_id) FROM ticket_events WHERE state = 'accepting'"
	b.Eventually(256, asked)
	rows, err := b.Pool().Query(t.Context(), `SELECT p.ticket_id, p.sub FROM ticket_players p
		WHERE p.ticket_id = ANY (ARRAY(SELECT unnest(tickets) FROM (SELECT tickets FROM matches LIMIT 1) m))`)
	require.NoError(t, err)
	players, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct{ Ticket, Sub string }])
	require.NoError(t, err)
	require.Len(t, players, 2)
	_, err = b.AnswerReadyCheck(t.Context(), universe,
		db.ReadyCheckAnswer{TicketID: players[0].Ticket, PlayerSub: players[0].Sub})
	require.NoError(t, err)
	b.Eventually(257, asked)
	require.Equal(t, 256, b.Count("SELECT count(*) FROM matches"))
	b.RequireInvariants()
}

// A player who leaves a match makes room for the next one who fits.
func TestNewcomersJoinAnOpenMatch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.host("host-1", 100, "arena")
	b.AddProfile("teams", "join_in_progress: prefer\nfewer: [{after: 1ms, players: 1}]\n"+teams)
	b.worker()
	for _, sub := range []string{"ada", "bo", "cy"} {
		b.ticket(1000, party(sub), "teams")
	}
	b.Eventually(3, "SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL")
	b.ticket(1000, party("di"), "teams")
	b.Eventually(4, "SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL")
	b.RequireInvariants()
}

// A player for whom nobody comes plays with bots, which the game server reads in the roster; a newcomer takes the place
// of one.
func TestBotsFillAMatch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.host("host-1", 100, "arena")
	b.AddProfile("teams", "join_in_progress: allow\nfill: bots after 1ms\n"+teams)
	b.worker()
	b.ticket(1000, party("ada"), "teams")
	b.Eventually(1, "SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL")
	require.Equal(t, 1, b.Count(`SELECT count(*) FROM matches WHERE fill_to = '{"red": 2, "blue": 2}'`))
	require.Equal(t, 3, b.Count(`SELECT (SELECT sum(n::int) FROM jsonb_each_text(detail -> 'bots') AS t(team, n)) FROM events WHERE kind = 'match.committed'`))
	require.Equal(t, 3, b.Count(`SELECT (SELECT sum(n::int) FROM jsonb_each_text(why -> 'bots') AS t(team, n)) FROM match_history`))
	b.ticket(1000, party("bo"), "teams")
	b.Eventually(2, "SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL")
	b.RequireInvariants()
}

// Pins a loop that, after an error, owned its profiles and decided for none of them.
func TestALoopThatBeginsAnewDecides(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.host("host-1", 100, "arena")
	b.AddProfile("duel", duel)
	b.worker()
	b.Eventually(1, "SELECT count(*) FROM profile_owners")
	b.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
	require.Eventually(t, func() bool {
		_, err := b.Pool().Exec(t.Context(), "SELECT 1")
		return err == nil
	}, 5*time.Second, 10*time.Millisecond)
	b.Store = b.store() // connections of the former one are closed
	b.ticket(1000, party("ada"), "duel")
	b.ticket(1000, party("bo"), "duel")
	b.Eventually(2, "SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL")
	b.RequireInvariants()
}
