package loop_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
	b.profile("duel", duel)
	b.worker()
	b.ticket(1000, party("ada"), "duel")
	b.ticket(1050, party("bo"), "duel")
	b.ticket(2000, party("cy"), "duel")
	b.eventually(2, "SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL")
	require.Equal(t, 1, b.count("SELECT count(*) FROM sessions WHERE match_id IS NOT NULL AND player_count = 2"))
	require.Equal(t, 2, b.count("SELECT count(*) FROM seats WHERE team IN ('red', 'blue') AND match_id IS NOT NULL"))
	require.Equal(t, 1, b.count("SELECT count(*) FROM tickets"), "nobody plays within 100 of cy")
	require.Equal(t, 1, b.count("SELECT count(*) FROM match_history"))
	b.sound()
}

// Players who come before any server keep their place, and are seated in the order in which they waited.
func TestMatchesWaitForAServer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.host("small", 1, "arena") // its region offers the mode, without room
	b.profile("duel", duel)
	b.worker()
	for i := range 6 {
		b.ticket(1000, party(fmt.Sprint("player-", i)), "duel")
	}
	b.eventually(6, "SELECT count(*) FROM ticket_events WHERE state = 'waiting_for_server'")
	b.eventually(3, "SELECT coalesce(sum(matches), 0)::int FROM demand")
	b.host("host-1", 100, "arena")
	b.eventually(6, "SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL")
	b.eventually(0, "SELECT count(*) FROM demand")
	b.sound()
}

// Workers share the profiles, and match each ticket once although every profile takes it.
func TestWorkersShareTheQueue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.host("host-1", 1000, "arena")
	for i := range 4 {
		b.profile(fmt.Sprint("duel-", i), duel)
	}
	for range 3 {
		b.worker()
	}
	for i := range 100 {
		b.ticket(1000, party(fmt.Sprint("player-", i)), "duel-0", "duel-1", "duel-2", "duel-3")
	}
	b.eventually(100, "SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL")
	require.Equal(t, 50, b.count("SELECT count(*) FROM sessions"))
	require.Equal(t, 100, b.count("SELECT count(DISTINCT sub) FROM seats"))
	b.sound()
}

// A worker whose process dies loses nothing: another takes its profiles over.
func TestAProfileIsTakenOver(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.host("host-1", 1000, "arena")
	b.profile("duel", duel)
	stop := b.worker()
	b.ticket(1000, party("ada"), "duel")
	b.eventually(1, "SELECT count(*) FROM profile_owners o JOIN loop_workers w ON w.id = o.worker")
	b.worker()
	stop()
	b.ticket(1000, party("bo"), "duel")
	b.eventually(2, "SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL")
	b.eventually(2, "SELECT epoch::int FROM profile_owners")
	b.sound()
}

// Players of a ready check are seated once all have accepted, and a party that declines leaves the queue without the others.
func TestPlayersAreAskedFirst(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.host("host-1", 100, "arena")
	b.profile("duel", "accept: {within: 40s}\n"+duel)
	b.worker()
	ada, bo := b.ticket(1000, party("ada"), "duel"), b.ticket(1000, party("bo"), "duel")
	b.eventually(2, "SELECT count(*) FROM ticket_events WHERE state = 'accepting'")
	require.Zero(t, b.count("SELECT count(*) FROM seats"), "no seats before everybody accepted")
	_, err := b.AnswerReadyCheck(t.Context(), universe, ada, "ada", true)
	require.NoError(t, err)
	_, err = b.AnswerReadyCheck(t.Context(), universe, bo, "bo", false)
	require.NoError(t, err)
	b.eventually(1, "SELECT count(*) FROM ticket_events WHERE state = 'declined'")
	cy := b.ticket(1000, party("cy"), "duel")
	b.eventually(4, "SELECT count(*) FROM ticket_events WHERE state = 'accepting'")
	for sub, id := range map[string]string{"ada": ada, "cy": cy} {
		_, err := b.AnswerReadyCheck(t.Context(), universe, id, sub, true)
		require.NoError(t, err)
	}
	b.eventually(2, "SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL")
	b.sound()
}

// A player who leaves a match makes room for the next one who fits.
func TestNewcomersJoinAnOpenMatch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.host("host-1", 100, "arena")
	b.profile("teams", "join_in_progress: prefer\nfewer: [{after: 1ms, players: 1}]\n"+teams)
	b.worker()
	for _, sub := range []string{"ada", "bo", "cy"} {
		b.ticket(1000, party(sub), "teams")
	}
	b.eventually(3, "SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL")
	b.ticket(1000, party("di"), "teams")
	b.eventually(4, "SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL")
	b.sound()
}

// Pins a loop that, after an error, owned its profiles and decided for none of them.
func TestALoopThatBeginsAnewDecides(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.host("host-1", 100, "arena")
	b.profile("duel", duel)
	b.worker()
	b.eventually(1, "SELECT count(*) FROM profile_owners")
	_, err := b.sql.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := b.sql.Exec(t.Context(), "SELECT 1")
		return err == nil
	}, 5*time.Second, 10*time.Millisecond)
	b.Store = b.store() // connections of the former one are closed
	b.ticket(1000, party("ada"), "duel")
	b.ticket(1000, party("bo"), "duel")
	b.eventually(2, "SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL")
	b.sound()
}
