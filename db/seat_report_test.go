package db

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/testkit/must"
)

// Reports about one session in one batch are decided one after the other. A report that needs rows which the batch has
// not written yet stays for the next batch: the rows that were read are outdated for it.
func TestReportsOfOneBatch(t *testing.T) {
	t.Parallel()
	id, incarnation := uuid.New(), uuid.New()
	session := sessionID("eu", id)
	ask := func(joined, left string, ended bool) *reportCall {
		r := SeatReport{InstanceRef: InstanceRef{"arena", &incarnation}, SessionID: session, HasEnded: ended}
		if joined != "" {
			r.JoinedPlayers = []Joined{{PlayerSub: joined, JTI: "token-of-" + joined}}
		}
		if left != "" {
			r.LeftPlayers = []Left{{PlayerSub: left}}
		}
		return &reportCall{Req: r}
	}
	row := query.LockReportedSessionsRow{ID: id, InstanceID: "arena", Incarnation: incarnation, PlayerCount: 2,
		MaxPlayers: 3, Live: true}
	seats := []query.ReportedSeatsRow{
		{SessionID: id, Sub: "ann", State: "reserved", HadOne: true},
		{SessionID: id, Sub: "bob", State: "connected", HadOne: true},
		{SessionID: id, Sub: "cid", State: "", HadOne: true},
		{SessionID: id, Sub: "dan", State: "", HadOne: true},
		{SessionID: id, Sub: "eve", State: "", HadOne: false},
	}
	decide := func(calls ...*reportCall) (reports []*report) {
		reports, foreign := newReportState("eu", []query.LockReportedSessionsRow{row}, seats, nil).decide(calls)
		require.Empty(t, foreign)
		return reports
	}

	got := decide(ask("ann", "", false), ask("cid", "", false), ask("dan", "", false), ask("eve", "", false))
	require.Len(t, got, 4)
	for i, want := range []SeatReportResult{
		{[]SeatOutcome{{"ann", "token-of-ann", SeatOK}}, 1, 0, 2, false},
		{[]SeatOutcome{{"cid", "token-of-cid", SeatOK}}, 1, 0, 3, false},
		{[]SeatOutcome{{"dan", "token-of-dan", SeatGone}}, 0, 0, 3, false}, // cid has the last seat
		{[]SeatOutcome{{"eve", "token-of-eve", SeatUnknown}}, 0, 0, 3, false},
	} {
		require.Equal(t, want, got[i].result)
	}

	require.Len(t, decide(ask("ann", "", false), ask("", "ann", false), ask("", "bob", false)), 2,
		"ann cannot leave before her join is written")

	got = decide(ask("", "ann", false), ask("", "bob", false), ask("cid", "", false))
	require.Len(t, got, 2, "the session closes when bob leaves")
	require.Equal(t, []bool{false, true}, []bool{got[0].result.IsClosed, got[1].result.IsClosed})
	require.Len(t, decide(ask("ann", "", true), ask("", "bob", false)), 1, "no report is decided after the end")

	row.Live = false
	reports, foreign := newReportState("eu", []query.LockReportedSessionsRow{row}, seats,
		nil).decide([]*reportCall{ask("ann", "", false)})
	require.Empty(t, reports)
	require.Len(t, foreign, 1)
}

// Pins joins that are written before the leaves which free their seats, so that the database rejects a batch of correct
// reports.
func TestLeavesFreeSeatsForJoinsOfTheirBatch(t *testing.T) {
	t.Parallel()
	s := smallFleet(t, 8, "a")
	arena := InstanceRef{InstanceID: "a"}
	full := s.mustPlace(t, duelFor(2, "ann", "bob"))
	join := func(sub, token string) SeatReport {
		return SeatReport{InstanceRef: arena, SessionID: full.SessionID,
			JoinedPlayers: []Joined{{PlayerSub: sub, JTI: token}}}
	}
	leave := func(sub string) SeatReport {
		return SeatReport{InstanceRef: arena, SessionID: full.SessionID, LeftPlayers: []Left{{PlayerSub: sub}}}
	}
	for _, r := range []SeatReport{join("ann", "t1"), join("bob", "t2"), leave("bob")} {
		_, err := s.ReportSeats(t.Context(), r)
		require.NoError(t, err)
	}
	s.mustPlace(t, duelFor(2, "cid"))

	calls := callsOf[SeatReport, SeatReportResult](t, leave("cid"), join("bob", "t3"))
	require.NoError(t, s.reportSeatBatch(t.Context(), "eu", calls), "one transaction decides both")
	for i, outcome := range []SeatOutcome{{"cid", "", SeatOK}, {"bob", "t3", SeatOK}} {
		require.NoError(t, errorOf(calls[i]))
		require.Equal(t, []SeatOutcome{outcome}, resultOf(calls[i]).Outcomes)
	}

	// One report may have a join and a leave of the same player. The seat is free afterwards, and history has it as
	// connected. The next report, which needs that seat, stays for the next batch.
	joinAndLeave := join("dan", "t4")
	must.Get(s.ReportSeats(t.Context(), leave("bob")))(t)
	s.mustPlace(t, duelFor(2, "dan"))
	joinAndLeave.LeftPlayers = []Left{{PlayerSub: "dan"}}
	calls = callsOf[SeatReport, SeatReportResult](t, joinAndLeave, join("cid", "t5"))
	require.NoError(t, s.reportSeatBatch(t.Context(), "eu", calls))
	require.True(t, calls[0].IsAnswered())
	require.False(t, calls[1].IsAnswered())
	var connected bool
	require.NoError(t, s.pool.QueryRow(t.Context(),
		"SELECT connected_at IS NOT NULL FROM seat_history WHERE sub = 'dan'").Scan(&connected))
	require.True(t, connected)
	require.NoError(t, s.reportSeatBatch(t.Context(), "eu", calls[1:]))
	require.Equal(t, SeatOK, resultOf(calls[1]).Outcomes[0].Result)
}
