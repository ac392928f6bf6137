package db

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/base/fault"
)

// Two callers, or two transactions, that decide about one thing in one batch or at one time.

// Pins the comparison of incarnations in speaksFor: the process that another one has replaced under the same instance
// id frees no seat of its successor.
func TestASupersededProcessReportsNoSeats(t *testing.T) {
	t.Parallel()
	s := smallFleet(t, 8)
	boot := func(id string) InstanceRef {
		r, err := s.Register(t.Context(),
			Registration{InstanceID: "a", Endpoint: "a:7777", Region: "eu", Modes: []string{"duel"}, Capacity: 8,
				BootID: id})
		require.NoError(t, err)
		return InstanceRef{InstanceID: "a", Incarnation: &r.Incarnation}
	}
	superseded, current := boot("boot-1"), boot("boot-2")
	p := s.mustPlace(t, duelFor(8, "ann", "bob"))
	for _, r := range []SeatReport{
		{InstanceRef: superseded, SessionID: p.SessionID, LeftPlayers: []Left{{PlayerSub: "ann"}}},
		{InstanceRef: superseded, SessionID: p.SessionID, JoinedPlayers: []Joined{{PlayerSub: "bob", JTI: "t1"}}},
		{InstanceRef: superseded, SessionID: p.SessionID, HasEnded: true},
	} {
		_, err := s.ReportSeats(t.Context(), r)
		require.True(t, fault.Is(err, fault.Superseded), "%v", err)
	}
	res, err := s.ReportSeats(t.Context(),
		SeatReport{InstanceRef: current, SessionID: p.SessionID,
			JoinedPlayers: []Joined{{PlayerSub: "ann", JTI: "t2"}, {PlayerSub: "bob", JTI: "t3"}}})
	require.NoError(t, err)
	require.Equal(t, 2, res.PlayerCount)
}

// Pins the comparison of callers in replay: a batch in which two callers use one idempotency key answers each its own.
func TestAStoredAnswerIsItsCallersInABatch(t *testing.T) {
	t.Parallel()
	s := smallFleet(t, 8, "a")
	keyed := func(sub string) PlaceRequest {
		r := duelFor(2, sub, sub+"'s friend")
		r.IdempotencyKey, r.RequestHash = "first", []byte("body")
		return r
	}
	anns := s.mustPlace(t, keyed("ann"))
	calls := callsOf[PlaceRequest, Placement](t, keyed("bob"), keyed("ann"))
	require.NoError(t, s.placeBatch(t.Context(), "eu", calls))
	for i, c := range calls {
		<-c.Done()
		require.NoError(t, errorOf(calls[i]))
	}
	require.Equal(t, anns, resultOf(calls[1]))
	require.NotEqual(t, anns.SessionID, resultOf(calls[0]).SessionID)
}

// Pins RedeemTokens and errTokenRace: a token id that another replica redeems at the same time, in another session, is
// redeemed once.
func TestATokenIsRedeemedOnceByTwoReplicas(t *testing.T) {
	t.Parallel()
	s := smallFleet(t, 16, "a")
	ann, bob := s.mustPlace(t, duelFor(2, "ann", "p1")), s.mustPlace(t, duelFor(2, "bob", "p2"))
	require.NotEqual(t, ann.SessionID, bob.SessionID)
	other := begin(t, s, `INSERT INTO redeemed_tokens (region, jti, session_id, sub, expires_at)
		SELECT 'eu', 'stolen', s.id, 'ann', now() + interval '1 hour' FROM sessions s WHERE s.id::text = right($1, 36)`, ann.SessionID)
	calls := callsOf[SeatReport, SeatReportResult](t,
		SeatReport{InstanceRef: InstanceRef{InstanceID: "a"}, SessionID: bob.SessionID,
			JoinedPlayers: []Joined{{PlayerSub: "bob", JTI: "stolen"}}})
	done := make(chan error, 1)
	go func() { done <- s.reportSeatBatch(t.Context(), "eu", calls) }()
	waitBlocked(t, s, 1)
	require.NoError(t, other.Commit(t.Context()))
	require.ErrorIs(t, <-done, errTokenRace, "the batch is decided again")
	res, err := s.ReportSeats(t.Context(), calls[0].Req)
	require.NoError(t, err)
	require.Equal(t, SeatReplay, res.Outcomes[0].Result)
	var connected int
	require.NoError(t, s.pool.QueryRow(t.Context(),
		"SELECT count(*) FROM seats WHERE state = 'connected'").Scan(&connected))
	require.Zero(t, connected)
}
