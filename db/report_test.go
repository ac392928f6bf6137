package db

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// Reports about one session that share a flight build on each other; one that would follow what is only decided and not
// yet written waits, or it would be judged by what is no longer so.
func TestReportsOfOneFlight(t *testing.T) {
	t.Parallel()
	id, incarnation := uuid.New(), uuid.New()
	session := sessionID("eu", id)
	ask := func(joined, left string, ended bool) *reportCall {
		r := SeatReport{Ref: InstanceRef{"arena", &incarnation}, SessionID: session, Ended: ended}
		if joined != "" {
			r.Joined = []Joined{{joined, "token-of-" + joined}}
		}
		if left != "" {
			r.Left = []string{left}
		}
		return &reportCall{req: r}
	}
	row := LockReportedSessionsRow{ID: id, InstanceID: "arena", Incarnation: incarnation, PlayerCount: 2, MaxPlayers: 3, Live: true}
	seats := []ReportedSeatsRow{{id, "ann", "reserved", true}, {id, "bob", "connected", true}, {id, "cid", "", true}, {id, "dan", "", true}, {id, "eve", "", false}}
	decide := func(calls ...*reportCall) (reports []*report) {
		reports, strangers := reportedOf("eu", []LockReportedSessionsRow{row}, seats, nil).decide(calls)
		require.Empty(t, strangers)
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

	require.Len(t, decide(ask("ann", "", false), ask("", "ann", false), ask("", "bob", false)), 2, "ann's leaving waits for her joining")

	got = decide(ask("", "ann", false), ask("", "bob", false), ask("cid", "", false))
	require.Len(t, got, 2, "the session closes with bob")
	require.Equal(t, []bool{false, true}, []bool{got[0].result.Closed, got[1].result.Closed})
	require.Len(t, decide(ask("ann", "", true), ask("", "bob", false)), 1, "nothing follows the end")

	row.Live = false
	reports, strangers := reportedOf("eu", []LockReportedSessionsRow{row}, seats, nil).decide([]*reportCall{ask("ann", "", false)})
	require.Empty(t, reports)
	require.Len(t, strangers, 1)
}
