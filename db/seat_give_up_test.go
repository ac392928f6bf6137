package db_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

func TestAGivenUpSeatIsFree(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 2)
	p := b.place(request("ann", 2))
	require.NoError(t, b.GiveUpSeat(t.Context(), p.SessionID, "bob"), "who holds no seat has none to give up")
	b.resolve(p, "ann")
	require.NoError(t, b.GiveUpSeat(t.Context(), p.SessionID, "ann"))
	_, err := b.Session(t.Context(), p.SessionID)
	requireKind(t, fault.Gone, "session_closed", err)
	require.Equal(t, "given up", one[string](b, "SELECT reason FROM seat_history WHERE sub = 'ann'"))
	b.place(request("bob", 2, "cid"))
	require.NoError(t, b.GiveUpSeat(t.Context(), p.SessionID, "ann"), "again")
	require.NoError(t, b.GiveUpSeat(t.Context(), "no session", "ann"))
	b.RequireInvariants()
}

// The client connected although its answer seemed lost: it keeps its seat.
func TestAConnectedSeatIsNotGivenUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 2)
	p := b.place(request("ann", 2))
	require.Equal(t, db.SeatOK, b.joined("a", p.SessionID, "ann", "j1"))
	require.NoError(t, b.GiveUpSeat(t.Context(), p.SessionID, "ann"))
	require.Equal(t, 1, one[int](b, "SELECT count(*) FROM seats WHERE state = 'connected'"))
	b.RequireInvariants()
}
