package db

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/dbtest"
)

// lookups counts the statements that look up why calls were refused.
type lookups struct{ n atomic.Int64 }

// TraceQueryStart implements pgx.QueryTracer.
func (l *lookups) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if strings.Contains(data.SQL, "name: FindInstance") {
		l.n.Add(1)
	}
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (*lookups) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// Pins a statement for each refused heartbeat and each refused report, during which the others of the batch wait.
func TestRefusalsOfABatchShareOneLookup(t *testing.T) {
	t.Parallel()
	seen := &lookups{}
	s := openStore(t, Config{URL: dbtest.New(t), Tracer: seen})
	in, err := s.Register(t.Context(), Registration{InstanceID: "a", Endpoint: "a:7777", Region: "eu",
		Modes: []string{"duel"}, Capacity: 8})
	require.NoError(t, err)
	stale, none := uuid.New(), uuid.Nil

	beats := []heartbeat{{instanceRef: InstanceRef{"a", &in.Incarnation}}}
	reports := []SeatReport{{InstanceRef: InstanceRef{"a", &in.Incarnation}, SessionID: sessionID("eu", uuid.New()),
		JoinedPlayers: []Joined{{PlayerSub: "ann", JTI: "t"}}}}
	for i := range 40 {
		stranger := InstanceRef{InstanceID: fmt.Sprint("stranger-", i)}
		beats = append(beats, heartbeat{instanceRef: stranger})
		reports = append(reports, SeatReport{InstanceRef: stranger, SessionID: sessionID("eu", uuid.New())})
	}
	reports = append(reports, SeatReport{InstanceRef: InstanceRef{"a", &stale}, SessionID: reports[0].SessionID})

	calls := callsOf[heartbeat, Alive](t, beats...)
	require.NoError(t, s.heartbeatBatch(t.Context(), "", calls))
	require.NoError(t, errorOf(calls[0]))
	for _, c := range calls[1:] {
		require.True(t, fault.Is(errorOf(c), fault.NotFound), "%v", errorOf(c))
	}
	require.Equal(t, int64(1), seen.n.Swap(0))

	answers := callsOf[SeatReport, SeatReportResult](t, reports...)
	require.NoError(t, s.reportSeatBatch(t.Context(), "eu", answers))
	require.Equal(t, []SeatOutcome{{"ann", "t", SeatUnknown}}, resultOf(answers[0]).Outcomes)
	for _, c := range answers[1:41] {
		require.True(t, fault.Is(errorOf(c), fault.NotFound), "%v", errorOf(c))
	}
	require.True(t, fault.Is(errorOf(answers[41]), fault.Superseded), "%v", errorOf(answers[41]))
	require.Equal(t, int64(1), seen.n.Swap(0))

	_, err = s.Heartbeat(t.Context(), InstanceRef{"a", &none}, nil)
	require.True(t, fault.Is(err, fault.Superseded), "no instance has the nil incarnation: %v", err)
}
