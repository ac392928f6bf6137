package db_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

// Hosts and sessions that a request reaches through a seat of its own, which it gives up, are judged as all others:
// these tests fail when only the views of hosts and sessions judge them.

// soon bounds a call that must be answered at once. Without it, a call that is never answered takes until the batch
// timeout.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func (b *bundle) refusesPlacement(r db.PlaceRequest) {
	b.t.Helper()
	_, err := b.Place(soon(b.t), r)
	requireKind(b.t, fault.NoCapacity, "no_capacity", err)
}

// Pins `status = 'ready'` of WaitForOpenSessions: a larger party than before is not seated in the caller's own session
// on a draining host.
func TestAChangedPartyIsNotSeatedInItsSessionOnADrainingHost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 8)
	old := b.place(request("ann", 8))
	require.Equal(t, old.SessionID, b.place(request("eve", 8)).SessionID)
	b.drain("a")
	b.refusesPlacement(request("ann", 8, "cid"))
	require.Equal(t, old.SessionID, b.place(request("ann", 8)).SessionID, "a refused player keeps the seat")
	require.Equal(t, int64(2), one[int64](b, "SELECT count(*) FROM seats"))
	b.RequireInvariants()
}

// Pins `status = 'ready'` of LockHosts: the host of the session that the request empties opens no other one while it
// drains.
func TestADrainingHostOpensNoSessionForASeatGivenUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 8)
	old := b.place(request("ann", 8))
	b.drain("a")
	b.refusesPlacement(request("ann", 4))
	require.Equal(t, old.SessionID, b.place(request("ann", 8)).SessionID, "a refused player keeps the seat")
	require.Equal(t, int64(1), one[int64](b, "SELECT count(*) FROM sessions"))
	b.RequireInvariants()
}

// Pins the lease check of LockHosts: neither does a host whose lease has expired.
func TestAnExpiredHostOpensNoSessionForASeatGivenUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 8)
	b.place(request("ann", 8))
	b.EndAmnesty()
	b.ageHeartbeat("a", 16*time.Second)
	b.refusesPlacement(request("ann", 8))
	require.Equal(t, int64(1), one[int64](b, "SELECT count(*) FROM sessions"), "no other session was opened")
}

// Pins `match_id IS NULL` of WaitForOpenSessions: nobody is seated in a match by way of a seat in it.
func TestAMatchIsNotFilledByWayOfASeatInIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 8)
	old := b.place(request("ann", 8))
	b.place(request("eve", 8))
	b.Exec("UPDATE sessions SET match_id = gen_random_uuid()")
	b.refusesPlacement(request("ann", 8, "cid"))
	require.Equal(t, int64(0), one[int64](b, "SELECT count(*) FROM seats WHERE sub = 'cid'"))
	require.Equal(t, old.SessionID, b.place(request("ann", 8)).SessionID)
}

// Pins the size in StillPlaceable: a party of three beside one free seat is refused, and does not wait for that seat.
func TestAPartyLargerThanTheFreeSeatsIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 4)
	b.place(request("p1", 4, "p2", "p3"))
	b.refusesPlacement(request("ann", 4, "bob", "cid"))
	require.Equal(t, 4, b.place(request("dan", 4)).PlayerCount, "the seat is free for a party of one")
}

// Pins played_in of StillPlaceable: the session in which a member plays is no reason to wait for the party.
func TestAPartyIsRefusedBesideTheSessionOfAMember(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 8)
	p := b.place(request("ann", 8))
	b.connect("a", p, "ann")
	b.refusesPlacement(request("ann", 8, "bob"))
	require.Equal(t, p.SessionID, b.place(request("bob", 8)).SessionID, "the session has room for others")
}
