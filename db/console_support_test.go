package db_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// supported are the events of an operator, as kind, actor and detail.
func (b *bundle) supported() []string {
	b.t.Helper()
	return storetest.Values[string](b.DB, `SELECT kind || ' ' || actor || ' ' || (detail - 'ticket') FROM ops.events WHERE kind IN ('seat.freed', 'ticket.cancelled') ORDER BY at`)
}

// Pins a seat that an operator frees and that is still counted, has no history, or names nobody.
func TestAnOperatorFreesASeat(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 8)
	p := b.place(request("ann", 8, "bob"))
	b.connect("a", p, "ann")
	act := b.As("console:ada")
	require.True(t, must.Get(act.FreeSeat(t.Context(), p.SessionID, "ann", " cheats "))(t))
	require.Equal(t, "freed by an operator", one[string](b, "SELECT reason FROM seat_history WHERE sub = 'ann'"))
	require.Equal(t, 1, one[int](b, "SELECT player_count FROM sessions"))
	require.False(t, must.Get(act.FreeSeat(t.Context(), p.SessionID, "ann", "again"))(t))
	require.True(t, must.Get(act.FreeSeat(t.Context(), p.SessionID, "bob", "stuck"))(t))
	require.Equal(t, "empty", one[string](b, "SELECT reason FROM session_history"), "a session without seats closes")
	require.Equal(t, []string{`seat.freed console:ada {"was": "connected", "player": "ann", "reason": "cheats"}`,
		`seat.freed console:ada {"was": "reserved", "player": "bob", "reason": "stuck"}`}, b.supported())

	_, err := act.FreeSeat(t.Context(), p.SessionID, "eve", "x")
	requireKind(t, fault.NotFound, "not_found", err)
	_, err = act.FreeSeat(t.Context(), "eu.nonsense", "ann", "x")
	requireKind(t, fault.Invalid, "invalid", err)
	_, err = act.FreeSeat(t.Context(), p.SessionID, "ann", "  ")
	requireKind(t, fault.Invalid, "invalid", err)
	b.RequireInvariants()
}

// Pins a ticket that an operator cancels and that a member still waits with, or cannot be told apart from one that the
// player cancelled.
func TestAnOperatorCancelsATicket(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.queues(asks("ada", []string{"ada", "bo"}, "duel", "race"))
	act := b.As("console:ada")
	require.True(t, must.Get(act.CancelTicket(t.Context(), universe, id, "asked for it"))(t))
	left := b.sees("bo", id)
	require.Equal(t, db.TicketCancelled, left.State)
	require.Equal(t, "cancelled_by_operator", left.FinalReason)
	require.Equal(t, []string{"ada", "bo"}, left.Party)
	require.False(t, must.Get(act.CancelTicket(t.Context(), universe, id, "again"))(t))
	require.Equal(t, []string{`ticket.cancelled console:ada {"reason": "asked for it", "players": ["ada", "bo"]}`}, b.supported())
	b.queues(asks("ada", []string{"ada"}, "duel"))

	_, err := act.CancelTicket(t.Context(), universe, id+"x", "x")
	requireKind(t, fault.NotFound, "not_found", err)
	_, err = act.CancelTicket(t.Context(), universe, id, "")
	requireKind(t, fault.Invalid, "invalid", err)
	b.RequireInvariants()
}

// A ready check ends by its players or its deadline: they would be asked about a match without one of its tickets.
func TestATicketOfAReadyCheckIsNotCancelled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, match := b.queues(asks("ada", []string{"ada"}, "duel")), uuid.New()
	b.Exec(`UPDATE tickets SET pending_at = clock_timestamp(), matched_in = 'loop'::bytea || decode(replace($1::text, '-', ''), 'hex')`, match.String())
	b.Exec(`INSERT INTO matches (region, id, universe, profile, version, state, tickets, roster, deadline, decision)
		VALUES ($1, $2, $1, 'duel', 1, 'proposed', ARRAY[$3::text], '[]', now() + interval '1 minute', '{}')`, universe, match, id)
	_, err := b.As("console:ada").CancelTicket(t.Context(), universe, id, "x")
	requireKind(t, fault.Conflict, "conflict", err)
	require.ErrorContains(t, err, match.String())
	b.Exec("UPDATE matches SET state = 'accepted'")
	require.True(t, must.Get(b.As("console:ada").CancelTicket(t.Context(), universe, id, "x"))(t))
}

// Pins a player whom support cannot find by the name that others see, and a text that is read as a part of a path.
func TestPlayersAreFoundByAnAttribute(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Exec(`INSERT INTO stored_players (region, sub, attributes, avoid, may_party_with, updated_by) VALUES
		($1, 'p1', '{"name": "Ada \"the\" <b>", "skill": 7}', '{p2}', '{}', 'backend:game'), ($1, 'p2', '{"tags": ["x", "Zoë"]}', '{}', '{}', 'backend:game'),
		('other', 'p3', '{"name": "Zoë"}', '{}', '{}', 'backend:game')`, universe)
	called := func(text string) []string {
		return must.Get(opsview.PlayersCalled(t.Context(), b.Pool(), text, universe))(t)
	}
	require.Equal(t, []string{"p1"}, called(`Ada "the" <b>`))
	require.Equal(t, []string{"p2"}, called("Zoë"))
	for _, none := range []string{"", "7", "ada", `" || true`, `x" || @ == "Zoë`, "name"} {
		require.Empty(t, called(none), none)
	}
	known := must.Get(opsview.ReadPlayer(t.Context(), b.Pool(), "p1", universe, opsview.Page{Limit: 1}))(t)
	require.Equal(t, []string{"p2"}, known.StoredFacts.Avoid)
}

// Pins a count that the next replica overwrites.
func TestRequestsOfReplicasAddUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 2 {
		require.NoError(t, b.CountRequests(t.Context(),
			[]db.RouteCount{{"POST /tickets", 5, 2, 1}, {"POST /matchmake", 7, 0, 0}}))
	}
	byRoute := must.Get(b.RequestsByRoute(t.Context(), 60))(t)
	require.Equal(t, []db.RouteCount{{"POST /tickets", 10, 4, 2}, {"POST /matchmake", 14, 0, 0}}, byRoute)
	all := db.RequestMinute{}
	for _, m := range must.Get(b.RequestsByMinute(t.Context(), 60))(t) {
		all.Requests, all.Refused, all.Failed = all.Requests+m.Requests, all.Refused+m.Refused, all.Failed+m.Failed
	}
	require.Equal(t, db.RequestMinute{Requests: 24, Refused: 4, Failed: 2}, all)
	b.Exec("UPDATE request_minutes SET minute = minute - interval '7 hours'")
	_, dropped, err := b.TakeSamples(t.Context())
	require.NoError(t, err)
	require.GreaterOrEqual(t, dropped, 2)
	require.Zero(t, one[int](b, "SELECT count(*) FROM request_minutes"))
}
