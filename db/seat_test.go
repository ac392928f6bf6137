package db_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

func (b *bundle) joined(instance, session, sub, jti string) db.SeatResult {
	b.t.Helper()
	res := b.report(db.SeatReport{InstanceRef: ref(instance), SessionID: session,
		JoinedPlayers: []db.Joined{{PlayerSub: sub, JTI: jti}}})
	return res.Outcomes[0].Result
}

func (b *bundle) left(instance, session string, subs ...string) db.SeatReportResult {
	b.t.Helper()
	return b.report(db.SeatReport{InstanceRef: ref(instance), SessionID: session, LeftPlayers: gone(subs...)})
}

func gone(subs ...string) (left []db.Left) {
	for _, sub := range subs {
		left = append(left, db.Left{PlayerSub: sub})
	}
	return left
}

func TestSeatLifecycle(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 16)
	p := b.place(request("ann", 8, "bob"))
	b.resolve(p, "ann")
	require.Equal(t, db.SeatOK, b.joined("a", p.SessionID, "ann", "j1"))
	require.Equal(t, db.SeatOK, b.joined("a", p.SessionID, "ann", "j1"), "the retry of a report whose answer was lost")
	require.Equal(t, db.SeatOK, b.joined("a", p.SessionID, "ann", "j2"), "every valid token may be redeemed")
	require.Equal(t, db.SeatUnknown, b.joined("a", p.SessionID, "eve", "j3"))
	res := b.left("a", p.SessionID, "ann", "bob")
	require.Equal(t, 2, res.LeftCount, "a seat is freed, connected or not")
	require.True(t, res.IsClosed, "the session is empty")
	_, err := b.Session(t.Context(), p.SessionID)
	requireKind(t, fault.Gone, "session_closed", err)
	require.Equal(t, db.SeatUnknown, b.joined("a", p.SessionID, "ann", "j1"), "the session is closed")
	b.RequireInvariants()
}

// A token can be used once: after the player has left, or for another player or session, it is a replay.
func TestReplays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 16)
	p := b.place(request("ann", 2, "bob"))
	q := b.place(request("cid", 2))
	require.Equal(t, db.SeatOK, b.joined("a", p.SessionID, "ann", "j1"))
	require.Equal(t, db.SeatReplay, b.joined("a", p.SessionID, "bob", "j1"))
	require.Equal(t, db.SeatReplay, b.joined("a", q.SessionID, "cid", "j1"))
	b.left("a", p.SessionID, "ann")
	require.Equal(t, db.SeatReplay, b.joined("a", p.SessionID, "ann", "j1"))
	b.RequireInvariants()
}

// reportConnection reports a connection of a player: with a token that it was made, without one that it ended.
func (b *bundle) reportConnection(instance, session, sub, jti, connection string) db.SeatResult {
	b.t.Helper()
	r := db.SeatReport{InstanceRef: ref(instance), SessionID: session}
	if jti != "" {
		r.JoinedPlayers = []db.Joined{{PlayerSub: sub, JTI: jti, ConnectionName: connection}}
	} else {
		r.LeftPlayers = []db.Left{{PlayerSub: sub, ConnectionName: connection}}
	}
	return b.report(r).Outcomes[0].Result
}

// A named connection holds its seat: a token is valid for one connection, and the end of another one does not free the
// seat.
func TestConnectionsHoldSeats(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 16)
	session := b.place(request("ann", 8, "bob")).SessionID
	for _, step := range []struct {
		jti, connection string
		want            db.SeatResult
	}{
		{"", "c1", db.SeatNotHolder}, // reserved, so no connection holds it
		{"j1", "c1", db.SeatOK},
		{"j1", "c1", db.SeatOK}, // a retry
		{"j1", "c2", db.SeatReplay},
		{"", "c2", db.SeatNotHolder},
		{"j2", "c2", db.SeatOK}, // a new token moves the seat
		{"j1", "c1", db.SeatReplay},
		{"", "c1", db.SeatNotHolder},
		{"j3", "c2", db.SeatOK}, // another token over the same connection changes nothing
		{"j2", "c2", db.SeatOK},
		{"", "c2", db.SeatOK},
		{"", "c2", db.SeatOK}, // a retry
		{"j3", "c2", db.SeatReplay},
		{"j4", "c4", db.SeatOK}, // the session has a free seat for the player
		{"j4", "c5", db.SeatReplay},
		{"", "c4", db.SeatOK},
	} {
		require.Equal(t, step.want, b.reportConnection("a", session, "ann", step.jti, step.connection), "%+v", step)
	}
	b.RequireInvariants()
}

// A late retry of a report that a connection ended must not free the seat that the player has reserved since.
func TestALateRetryDoesNotFreeANewSeat(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 16)
	p := b.place(request("bob", 8))
	require.Equal(t, p.SessionID, b.place(request("ann", 8)).SessionID)
	require.Equal(t, db.SeatOK, b.reportConnection("a", p.SessionID, "ann", "j1", "c1"))
	require.Equal(t, db.SeatOK, b.reportConnection("a", p.SessionID, "ann", "", "c1"))
	require.Equal(t, p.SessionID, b.place(request("ann", 8)).SessionID)
	require.Equal(t, db.SeatNotHolder, b.reportConnection("a", p.SessionID, "ann", "", "c1"))
	require.Equal(t, 1, one[int](b, "SELECT count(*) FROM seats WHERE sub = 'ann'"))
}

// The beginning and the end of a connection in one report, and two connections of one player: the last one that joined
// holds the seat.
func TestConnectionsInOneReport(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 16)
	session := b.place(request("ann", 8, "bob")).SessionID
	res := b.report(db.SeatReport{
		InstanceRef: ref("a"), SessionID: session,
		JoinedPlayers: []db.Joined{{PlayerSub: "ann", JTI: "j1", ConnectionName: "c1"},
			{PlayerSub: "ann", JTI: "j2", ConnectionName: "c2"}, {PlayerSub: "bob", JTI: "j3", ConnectionName: "c3"}},
		LeftPlayers: []db.Left{{PlayerSub: "ann", ConnectionName: "c1"}, {PlayerSub: "bob", ConnectionName: "c3"}},
	})
	var got []db.SeatResult
	for _, o := range res.Outcomes {
		got = append(got, o.Result)
	}
	require.Equal(t, []db.SeatResult{db.SeatOK, db.SeatOK, db.SeatOK, db.SeatNotHolder, db.SeatOK}, got)
	require.Equal(t, "c2", one[string](b, "SELECT connection FROM seats WHERE jti = 'j2' AND connection_jti = 'j2'"))
	require.Equal(t, db.SeatOK, b.reportConnection("a", session, "ann", "", "c2"))
	b.RequireInvariants()
}

// A game server may name no connections: then a second connection with the same token counts as a retry, and the end of
// any frees the seat. The same holds for a seat that was connected without a name, or by a replica of the previous
// release.
func TestUnnamedConnections(t *testing.T) {
	t.Parallel()
	for name, connect := range map[string]func(b *bundle, session string){
		"unnamed": func(b *bundle, session string) { b.reportConnection("a", session, "ann", "j2", "") },
		"previous release": func(b *bundle, _ string) {
			b.Exec("UPDATE seats SET jti = 'j2' WHERE sub = 'ann'")
			b.Exec("INSERT INTO redeemed_tokens SELECT region, 'j2', session_id, sub, now() + interval '1 minute' FROM seats WHERE sub = 'ann'")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.AddServer("a", 16)
			session := b.place(request("ann", 8, "bob")).SessionID
			require.Equal(t, db.SeatOK, b.reportConnection("a", session, "ann", "j1", "c1"))
			connect(b, session)
			require.Equal(t, db.SeatOK, b.reportConnection("a", session, "ann", "j2", ""))
			require.Equal(t, db.SeatOK, b.reportConnection("a", session, "ann", "j2", "c2"))
			require.Equal(t, db.SeatOK, b.reportConnection("a", session, "ann", "", "c3"))
			require.Zero(t, one[int](b, "SELECT count(*) FROM seats WHERE sub = 'ann'"))
			b.RequireInvariants()
		})
	}
}

// A player whose seat was reaped gets a seat again while the session has a free one, and is refused otherwise.
func TestAReapedSeatIsConnectedWhileAnotherIsFree(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 2)
	p := b.place(request("ann", 2, "bob"))
	require.Equal(t, db.SeatOK, b.joined("a", p.SessionID, "bob", "jb"))
	b.Exec("UPDATE seats SET expires_at = now() - interval '1 second', look_at = now() WHERE state = 'reserved'")
	reaped, err := b.ReapSeats(t.Context(), "eu", 100)
	require.NoError(t, err)
	require.Equal(t, db.ReapedSeats{ExaminedSeats: 1, Freed: 1}, reaped)
	require.Equal(t, db.SeatOK, b.joined("a", p.SessionID, "ann", "ja"))
	b.left("a", p.SessionID, "ann")
	b.place(request("cid", 2))
	require.Equal(t, db.SeatGone, b.joined("a", p.SessionID, "ann", "ja2"))
	b.RequireInvariants()
}

func TestUnusedSeatsAreFreed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 16, func(r *db.Registration) { r.ReportsSeats = true })
	p := b.place(request("ann", 8, "bob"))
	expiry := func(sub string) time.Duration {
		return one[time.Duration](b, "SELECT expires_at - reserved_at FROM seats WHERE sub = $1", sub)
	}
	require.Equal(t, time.Minute, expiry("ann"))
	b.resolve(p, "ann")
	require.InDelta(t, (2*time.Minute + 30*time.Second).Seconds(), expiry("ann").Seconds(), 5,
		"until its token has expired, plus a grace period")
	b.Exec("UPDATE seats SET reserved_at = reserved_at - interval '9 minutes'")
	b.resolve(p, "ann")
	require.Equal(t, 10*time.Minute, expiry("ann"), "ten minutes after the reservation at the latest")
	b.Exec("UPDATE seats SET expires_at = now(), look_at = now()")
	reaped, err := b.ReapSeats(t.Context(), "eu", 100)
	require.NoError(t, err)
	require.Equal(t, db.ReapedSeats{ExaminedSeats: 2, Freed: 2, ClosedSessions: 1}, reaped, "the empty session closes")
	b.RequireInvariants()
}

// A legacy server never reports players: resolved seats are held for hours, until the server's first report.
func TestUnreportedSeatsAreHeldForHours(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 16)
	p := b.place(request("ann", 8, "bob"))
	b.resolve(p, "ann")
	hold := func() float64 {
		return one[time.Duration](b, "SELECT expires_at - now() FROM seats WHERE sub = 'ann'").Minutes()
	}
	require.InDelta(t, 120, hold(), 1)
	require.Equal(t, db.SeatOK, b.joined("a", p.SessionID, "bob", "jb"))
	require.InDelta(t, 2.5, hold(), 1)
}

func TestEndedSessions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	in := b.AddServer("a", 16)
	p := b.place(request("ann", 8))
	res := b.report(db.SeatReport{InstanceRef: refOf(in), SessionID: p.SessionID, HasEnded: true})
	require.True(t, res.IsClosed)
	require.Equal(t, "ended", one[string](b, "SELECT reason FROM session_history"))
	alive, err := b.Heartbeat(t.Context(), ref("a"), nil)
	require.NoError(t, err)
	require.Equal(t, db.Alive{Available: 16}, alive)
	require.True(t, b.report(db.SeatReport{InstanceRef: refOf(in), SessionID: p.SessionID, HasEnded: true}).IsClosed,
		"a repeated report")
	b.RequireInvariants()
}

// A report about another instance's session changes nothing.
func TestReportsOfAnotherInstance(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 16)
	p := b.place(request("ann", 8))
	b.AddServer("b", 16)
	require.Equal(t, db.SeatUnknown, b.joined("b", p.SessionID, "ann", "j1"))
	res := b.report(db.SeatReport{InstanceRef: ref("b"), SessionID: p.SessionID, LeftPlayers: gone("ann"),
		HasEnded: true})
	require.Equal(t, db.SeatUnknown, res.Outcomes[0].Result)
	got, err := b.Session(t.Context(), p.SessionID)
	require.NoError(t, err)
	require.Equal(t, 1, got.PlayerCount)
}

func TestRefusedResolves(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 16)
	p := b.place(request("ann", 8))
	for _, handle := range []string{"", "eu", "eu.short", "EU." + p.SessionHandle[3:], "us." + p.SessionHandle[3:],
		p.SessionHandle[:len(p.SessionHandle)-1] + "!"} {
		_, err := b.Resolve(t.Context(), handle, "ann")
		requireKind(t, fault.NotFound, "session_unknown", err)
	}
	_, err := b.Resolve(t.Context(), p.SessionHandle, "eve")
	requireKind(t, fault.Forbidden, "no_seat", err)
	b.left("a", p.SessionID, "ann")
	_, err = b.Resolve(t.Context(), p.SessionHandle, "eve")
	requireKind(t, fault.Gone, "session_closed", err)
}
