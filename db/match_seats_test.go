package db_test

import (
	"hash/fnv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

// Unused seats are given up for the match's, and the sessions that they leave empty make room for it.
func TestAMatchTakesItsPlayersFromUnusedSeats(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	m.Exec("UPDATE instances SET capacity = 8")
	m.place(request("ann", 8))
	d := m.duel("ann", "bob")
	d.Size = 8
	p := m.requireCommitted(m.commit(d)[0])
	require.Equal(t, []string{"ann|" + p.SessionID, "bob|" + p.SessionID},
		m.Rows("SELECT sub, region || '.' || session_id FROM seats ORDER BY sub"))
	require.Equal(t, []string{"given up"}, m.Rows("SELECT reason FROM seat_history"))
	m.RequireInvariants()
}

// A seat is not given up for nothing.
func TestUnusedSeatsAreKeptWithoutAHost(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	held := m.place(request("ann", 8, "zoe"))
	d := m.duel("ann", "bob")
	d.Size = 65
	require.Equal(t, db.MatchNoHost.String(), m.commit(d)[0].Kind.String())
	require.Equal(t, held.SessionHandle, m.place(request("ann", 8, "zoe")).SessionHandle)
	m.RequireInvariants()
}

// A player that has resolved its seat is on its way there. One that plays already may be matched again.
func TestAResolvedSeatRefusesTheMatch(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	p := m.place(request("ann", 8))
	m.resolve(p, "ann")
	d := m.duel("ann", "bob")
	out := m.commit(d)[0]
	require.Equal(t, db.MatchRefused, out.Kind)
	require.Equal(t, db.RefusedSeated, out.RefusalReason)
	require.Equal(t, []string{"ann"}, out.BusyPlayers)
	m.connect("a", p, "ann")
	m.requireCommitted(m.commit(d)[0])
	m.RequireInvariants()
}

// A seat that a stranger's party reserved does not keep a player out of its match.
func TestAStrangersReservationYields(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	m.place(request("eve", 8, "ann"))
	m.requireCommitted(m.commit(m.duel("ann", "bob"))[0])
	require.Equal(t, 1, one[int](m.bundle, "SELECT player_count FROM sessions WHERE match_id IS NULL"))
	m.RequireInvariants()
}

// Nor may a stranger's party take a player out of its match.
func TestAStrangerTakesNobodyOutOfAMatch(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	m.requireCommitted(m.commit(m.duel("ann", "bob"))[0])
	_, err := m.Place(t.Context(), request("eve", 8, "ann"))
	requireKind(t, fault.Conflict, "party_conflict", err)
}

// A player with tickets in two profiles is in the first match that is committed. The second would empty the first
// match's seat again. A ticket that was made after that match is another thing: the player is not coming.
func TestASecondMatchDoesNotTakeTheSeatOfTheFirst(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	first, second := m.duel("ann", "bob"), m.duel("ann", "cid")
	out := m.commit(first, second)
	m.requireCommitted(out[0])
	require.Equal(t, db.MatchPlayersBusy.String(), out[1].Kind.String())
	require.Equal(t, []string{"ann"}, out[1].BusyPlayers)
	again := m.commit(second)[0]
	require.Equal(t, db.RefusedSeated, again.RefusalReason, "%+v", again)
	later := matchOf(m.queued("red", "ann"), second.Tickets[1])
	m.requireCommitted(m.commit(later)[0])
	m.RequireInvariants()
}

// Placement decides about a player under the same lock.
func TestPlayersWhomPlacementHoldsAreBusy(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	d, other := m.duel("ann", "bob"), m.duel("cid", "dan")
	tx, err := m.Pool().Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	key := fnv.New64a()
	_, _ = key.Write([]byte("seat\x00eu\x00duel\x00ann\x00")) // as of placement in all releases
	_, err = tx.Exec(t.Context(), "SELECT pg_advisory_xact_lock($1)", int64(key.Sum64()))
	require.NoError(t, err)
	out := m.commit(d, other)
	require.Equal(t, db.MatchPlayersBusy, out[0].Kind)
	require.Equal(t, []string{"ann"}, out[0].BusyPlayers)
	m.requireCommitted(out[1])
}
