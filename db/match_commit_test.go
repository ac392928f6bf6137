package db_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

// All that a match is: session, seats, assignments, the last states of its tickets, history and an event.
func TestACommittedMatchIsWhole(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	d := m.duel("ann", "bob")
	d.Tickets[0].Players[0].Role = "tank"
	d.Tickets[0].Players[0].Told = json.RawMessage(`{"skill": 7}`)
	d.Data = json.RawMessage(`{"ranked": true}`)
	m.Exec("INSERT INTO demand (region, mode, key, matches, players) VALUES ('eu', 'duel', 'duels/2', 2, 4), ('eu', 'duel', 'other/2', 1, 2)")
	d.Demand = db.DemandKey{Mode: "duel", Key: "duels/2"}
	out := m.commit(d)[0]
	p := m.requireCommitted(out)
	require.Equal(t, d.ID, out.MatchID)
	require.Equal(t, db.Placement{SessionID: p.SessionID, SessionHandle: p.SessionHandle, Endpoint: "a:7777",
		Region: "eu", Mode: "duel", PlayerCount: 2, MaxPlayers: 2}, p)

	require.Equal(t, []string{"ann|ann|red", "bob|bob|blue"}, m.Rows(`SELECT sub, reserved_by, team FROM seats WHERE match_id = $1 ORDER BY sub`, d.ID))
	require.Equal(t, []string{fmt.Sprintf("eu|global|duels|3|playing|{\"map\": \"dust\"}|{\"ranked\": true}|%s|2",
		p.SessionID)},
		m.Rows(`SELECT m.region, m.universe, m.profile, m.version, m.state, m.chosen, m.data, m.region || '.' || m.session_id, cardinality(m.tickets)
			FROM matches m JOIN sessions s ON s.id = m.session_id AND s.match_id = m.id`))
	require.Equal(t, []string{"ann|red|tank|7", "bob|blue||"}, m.Rows(
		`SELECT r->>'sub', r->>'team', r->>'role', r->'attributes'->>'skill' FROM matches, jsonb_array_elements(roster) r ORDER BY 1`))
	for i, k := range d.Tickets {
		got, err := m.GetTicket(t.Context(), universe, k.ID)
		require.NoError(t, err)
		require.Equal(t, d.ID.String()+" at a:7777", string(got.EncodedAssignment))
		require.Equal(t, []string{fmt.Sprintf("2|assigned|%s|{%s}|%s|a:7777|eu|%s", d.ID, k.Players[0].Sub,
			p.SessionHandle, k.Players[0].Team)}, m.Rows(
			`SELECT n, state, match_id, party, detail->>'session_handle', detail->>'endpoint', detail->>'region', detail->'teams'->>$2
			FROM ticket_events WHERE ticket_id = $1`, k.ID, k.Players[0].Sub), "ticket %d", i)
		require.Equal(t, []string{fmt.Sprintf("{duels}|{%s}|{\"skill\": 1000}|assigned|duels|%s|t", k.Players[0].Sub,
			d.ID)}, m.Rows(
			`SELECT profiles, party, attributes, outcome, profile, match_id, seen_at IS NULL AND created BETWEEN now() - interval '1 hour' AND now()
			FROM ticket_history WHERE id = $1`, k.ID))
	}
	m.keep(out) // as after an unknown outcome
	require.Equal(t, 2, one[int](m.bundle,
		"SELECT count(*) FROM ticket_history h JOIN match_history m ON m.id = h.match_id AND m.committed_at = h.left_at"))
	require.Equal(t, []string{fmt.Sprintf("%s|duels|3|1|%d|eu|duel|f|2|2|{\"rules\": []}", d.ID, -1<<63+7)}, m.Rows(
		`SELECT id, profile, version, epoch, seed, game_region, mode, joined, cardinality(tickets), players, why FROM match_history`))
	require.Equal(t, []string{"eu|{\"mode\": \"duel\", \"match\": \"" + d.ID.String() +
		"\", \"players\": 2, \"profile\": \"duels\", \"tickets\": 2, \"version\": 3}"},
		m.Rows(`SELECT region, detail FROM events WHERE kind = 'match.committed' AND session_id IS NOT NULL`))
	require.Zero(t, one[int](m.bundle, "SELECT count(*) FROM ticket_players"))
	require.Equal(t, []string{"duels/2|1|2", "other/2|1|2"},
		m.Rows("SELECT key, matches, players FROM demand ORDER BY key"))
	last := m.duel("cid", "dan")
	last.Demand = d.Demand
	m.requireCommitted(m.commit(last)[0])
	require.Equal(t, []string{"other/2"}, m.Rows("SELECT key FROM demand"))
	m.RequireInvariants()
}

// A match without modes is a lobby's: assignments and history, and nothing else.
func TestAMatchWithoutModesHasNoSeats(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	d := m.duel("ann", "bob")
	d.Modes = nil
	out, err := m.CommitMatches(t.Context(), universe, "", db.HostShare{}, []db.MatchOwner{m.owner}, []db.NewMatch{d},
		assignmentOf)
	require.NoError(t, err)
	require.Zero(t, m.requireCommitted(out[0]))
	require.Equal(t, []string{"0|0|2|1|1"}, m.Rows(`SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM matches), (SELECT count(*) FROM settled_tickets),
		(SELECT count(*) FROM match_history WHERE mode IS NULL AND session_id IS NULL), (SELECT count(*) FROM events WHERE kind = 'match.committed' AND region = 'global')`))
	m.RequireInvariants()
}

// With a history of zero, nothing that leaves the queue is remembered, and all else is as before.
func TestNoHistory(t *testing.T) {
	t.Parallel()
	m := setupMatches(t, func(c *db.Config) {
		c.NoHistory = true
		c.DescribeTicket = func(_ []byte, party []string) db.TicketFacts { return db.TicketFacts{Party: party} }
	})
	m.requireCommitted(m.commit(m.duel("ann", "bob"))[0])
	d := m.duel("cid", "dan")
	m.propose(d)
	m.answer(d.Tickets[0], "cid", false)
	require.Len(t, m.judge().DeclinedTickets, 1, "the other player is back in the queue")
	id := m.queues(asks("eve", []string{"eve"}, "duels"))
	_, err := m.CancelPlayerTicket(t.Context(), universe, id, "eve")
	require.NoError(t, err)
	require.Equal(t, []string{"0|0|1|4"}, m.Rows(`SELECT (SELECT count(*) FROM match_history), (SELECT count(*) FROM ticket_history),
		(SELECT count(*) FROM events WHERE kind = 'match.committed'), (SELECT count(*) FROM ticket_events WHERE party IS NOT NULL)`))
	m.RequireInvariants()
}

// The seats are as those of /matchmake: asked again with the same party and size, the answer is the match's seat,
// although no other player is put into its session; and a token is given out at once.
func TestMatchmakeAndResolveFindTheSeatOfAMatch(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	d := matchOf(m.queued("red", "ann", "bob"), m.queued("blue", "cid"))
	d.Size = 4
	p := m.requireCommitted(m.commit(d)[0])
	require.Equal(t, p, m.place(request("bob", 4, "ann")))
	require.NotEqual(t, p.SessionID, m.place(request("dan", 4)).SessionID, "no stranger sits in a match's session")
	r := m.resolve(p, "ann")
	require.Equal(t, d.ID, r.MatchID)
	require.Equal(t, "red", r.TeamName)
	m.connect("a", p, "bob")
	require.Equal(t, p.SessionHandle, m.place(request("bob", 4, "ann")).SessionHandle,
		"a player that is connected comes back")
	require.Equal(t, uuid.Nil, m.resolve(m.place(request("eve", 4)), "eve").MatchID)
	m.RequireInvariants()
}

// A player that gives up the seat of a match is not put back into the match's session as a stranger.
func TestNobodyFillsASeatThatWasGivenUp(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	d := m.duel("ann", "bob")
	p := m.requireCommitted(m.commit(d)[0])
	other := m.place(request("ann", 2, "cid"))
	require.NotEqual(t, p.SessionID, other.SessionID)
	require.Equal(t, []string{d.ID.String() + "|red|given up"},
		m.Rows("SELECT match_id, team, reason FROM seat_history"))
	m.RequireInvariants()
}

// The rows of a match end with its session, and their history says which match it was.
func TestAMatchEndsWithItsSession(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	d := m.duel("ann", "bob")
	p := m.requireCommitted(m.commit(d)[0])
	m.connect("a", p, "ann", "bob")
	m.report(db.SeatReport{InstanceRef: ref("a"), SessionID: p.SessionID, LeftPlayers: gone("ann")})
	require.Equal(t, db.SeatOK, m.joined("a", p.SessionID, "ann", "again-ann"), "with the token that she got before")
	m.report(db.SeatReport{InstanceRef: ref("a"), SessionID: p.SessionID, HasEnded: true})
	require.Zero(t, one[int](m.bundle, "SELECT count(*) FROM matches"))
	require.Equal(t, []string{"ann|red", "ann|red", "bob|blue"},
		m.Rows("SELECT sub, team FROM seat_history WHERE match_id = $1 ORDER BY sub", d.ID))
	require.Equal(t, d.ID, one[uuid.UUID](m.bundle, "SELECT match_id FROM session_history"))
	m.RequireInvariants()
}

func TestNoHost(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	big, small := m.duel("ann", "bob"), m.duel("cid", "dan")
	big.Size = 65
	out := m.commit(big, small)
	require.Equal(t, db.MatchNoHost, out[0].Kind)
	m.requireCommitted(out[1])
	require.Equal(t, "none", m.state(big.Tickets[0].ID))
	big.Modes = []string{"raid", "duel"}
	big.Size = 2
	require.Equal(t, "duel", m.requireCommitted(m.commit(big)[0]).Mode, "the first mode that has a host")
	m.RequireInvariants()
}

// Hosts that another transaction holds are no reason to say that there is none.
func TestAHostThatIsHeldIsWaitedFor(t *testing.T) {
	t.Parallel()
	m := setupMatches(t, func(c *db.Config) { c.LockWait = 20 * time.Second })
	d := m.duel("ann", "bob")
	tx, err := m.Pool().Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT FROM instances FOR NO KEY UPDATE")
	require.NoError(t, err)
	done := make(chan []db.MatchOutcome, 1)
	go func() { done <- m.commit(d) }()
	m.AwaitBlocked(1)
	require.NoError(t, tx.Commit(t.Context()))
	m.requireCommitted((<-done)[0])
}

// A ticket that is not as it was decided about is in no match, and the other tickets of that match wait on.
func TestTicketsThatChangedAreGone(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"paused":       "UPDATE tickets SET paused_at = now() WHERE id = $1",
		"another tx":   "UPDATE tickets SET tx = pg_current_xact_id() WHERE id = $1",
		"in a match":   "UPDATE tickets SET pending_at = now(), matched_in = 'another' WHERE id = $1",
		"expired":      "UPDATE tickets SET expires_at = now() - interval '1 second' WHERE id = $1",
		"deleted":      "DELETE FROM tickets WHERE id = $1",
		"not accepted": "UPDATE tickets SET pending_at = now(), matched_in = 'loop' WHERE id = $1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := setupMatches(t)
			d, other := m.duel("ann", "bob"), m.duel("cid", "dan")
			m.Exec(change, d.Tickets[1].ID)
			out := m.commit(d, other)
			require.Equal(t, db.MatchTicketsGone, out[0].Kind)
			require.Equal(t, []string{d.Tickets[1].ID}, out[0].GoneTickets)
			m.requireCommitted(out[1])
			require.Equal(t, 1, one[int](m.bundle, "SELECT count(*) FROM tickets WHERE id = $1 AND pending_at IS NULL",
				d.Tickets[0].ID))
		})
	}
}

// A mark that is void by its age keeps nobody out.
func TestAVoidMarkIsFree(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	d := m.duel("ann", "bob")
	m.Exec("UPDATE tickets SET pending_at = now() - interval '61 seconds', matched_in = 'another' WHERE id = $1",
		d.Tickets[0].ID)
	m.requireCommitted(m.commit(d)[0])
}

// A worker that lost its profile or its lease commits nothing.
func TestTheFenceStopsASupersededOwner(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]string{
		"another epoch":  "UPDATE profile_owners SET epoch = epoch + 1",
		"another worker": "UPDATE profile_owners SET worker = gen_random_uuid()",
		"no lease":       "UPDATE loop_workers SET lease_until = now() - interval '1 second'",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := setupMatches(t)
			d := m.duel("ann", "bob")
			m.Exec(lose)
			_, err := m.CommitMatches(t.Context(), universe, "eu", db.HostShare{}, []db.MatchOwner{m.owner},
				[]db.NewMatch{d}, assignmentOf)
			requireKind(t, fault.Superseded, "profile_lost", err)
			_, err = m.ProposeMatches(t.Context(), universe, []db.MatchOwner{m.owner}, []db.NewMatch{d}, time.Second)
			requireKind(t, fault.Superseded, "profile_lost", err)
			require.Equal(t, 2, one[int](m.bundle, "SELECT count(*) FROM tickets"))
		})
	}
	m := setupMatches(t)
	_, err := m.CommitMatches(t.Context(), universe, "eu", db.HostShare{}, nil, []db.NewMatch{m.duel("ann", "bob")},
		assignmentOf)
	requireKind(t, fault.Superseded, "profile_lost", err)
}

// One match with data that Postgres refuses must not take the others of its batch down.
func TestABadMatchIsAlone(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	var all []db.NewMatch
	for i := range 8 {
		all = append(all, m.duel(fmt.Sprint("a", i), fmt.Sprint("b", i)))
	}
	all[2].Tickets[0].Players[0].Team = "red\x00"
	all[5].Why = json.RawMessage(`{`)
	all[6].Tickets[0].Players[0].Told = json.RawMessage(`{`)
	for i, out := range m.commit(all...) {
		if i == 2 || i == 5 || i == 6 {
			require.Equal(t, db.MatchBad.String(), out.Kind.String())
			require.Error(t, out.Err)
			continue
		}
		m.requireCommitted(out)
	}
	m.RequireInvariants()
}

// A batch is cut where it grows beyond what one transaction may hold.
func TestManyMatchesAreCommittedInBatches(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	m.AddServer("b", 10000)
	var all []db.NewMatch
	for i := range 300 {
		all = append(all, m.duel(fmt.Sprint("a", i), fmt.Sprint("b", i)))
	}
	for _, out := range m.commit(all...) {
		m.requireCommitted(out)
	}
	require.Equal(t, 2, one[int](m.bundle, "SELECT count(DISTINCT xmin::text) FROM match_history"))
	m.RequireInvariants()
}

// Replicas of the version before write none of the new columns.
func TestRowsOfTheVersionBeforeAreTaken(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	m.Exec(`INSERT INTO sessions (region, id, handle, mode, instance_id, incarnation, player_count, max_players)
		SELECT region, gen_random_uuid(), 'eu.old', 'duel', id, incarnation, 1, 8 FROM instances`)
	m.Exec(`INSERT INTO seats (region, session_id, sub, mode, party, reserved_by, expires_at, look_at)
		SELECT region, id, 'old', 'duel', gen_random_uuid(), 'old', now() + interval '1 minute', now() FROM sessions`)
	m.Exec(`UPDATE instances SET reserved_seats = 8, open_sessions = 1`)
	m.Exec(`INSERT INTO tickets (region, id, created, terms, double_keys, doubles, body) VALUES ('global', 'old', 1, '{}', '{}', '{}', '')`)
	require.Equal(t, 1, one[int](m.bundle, "SELECT count(*) FROM open_sessions WHERE takes_players"))
	require.True(t, one[bool](m.bundle, "SELECT tx = xmin::text::xid8 AND version = 1 FROM tickets"))
	m.RequireInvariants()
}
