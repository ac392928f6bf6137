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

	"github.com/lattice-director/director/db/dbtest"
)

// lookups counts the statements that ask why calls were refused.
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

// Each refused heartbeat and each stranger's report cost a statement of its own, while the others of the batch waited.
func TestRefusalsOfABatchShareOneLookup(t *testing.T) {
	t.Parallel()
	seen := &lookups{}
	s, err := Open(t.Context(), Config{URL: dbtest.New(t), Tracer: seen})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	in, err := s.Register(t.Context(), Registration{InstanceID: "a", Endpoint: "a:7777", Region: "eu", Modes: []string{"duel"}, Capacity: 8})
	require.NoError(t, err)
	stale, nobody := uuid.New(), uuid.Nil

	beats := []beat{{ref: InstanceRef{"a", &in.Incarnation}}}
	reports := []SeatReport{{Ref: InstanceRef{"a", &in.Incarnation}, SessionID: sessionID("eu", uuid.New()), Joined: []Joined{{Sub: "ann", JTI: "t"}}}}
	for i := range 40 {
		stranger := InstanceRef{InstanceID: fmt.Sprint("stranger-", i)}
		beats = append(beats, beat{ref: stranger})
		reports = append(reports, SeatReport{Ref: stranger, SessionID: sessionID("eu", uuid.New())})
	}
	reports = append(reports, SeatReport{Ref: InstanceRef{"a", &stale}, SessionID: reports[0].SessionID})

	heard := callsOf[beat, int](t, beats...)
	require.NoError(t, s.heartbeatBatch(t.Context(), "", heard))
	require.NoError(t, errorOf(heard[0]))
	for _, c := range heard[1:] {
		require.True(t, IsKind(errorOf(c), NotFound), "%v", errorOf(c))
	}
	require.Equal(t, int64(1), seen.n.Swap(0))

	told := callsOf[SeatReport, SeatReportResult](t, reports...)
	require.NoError(t, s.reportBatch(t.Context(), "eu", told))
	require.Equal(t, []SeatOutcome{{"ann", "t", SeatUnknown}}, resultOf(told[0]).Outcomes)
	for _, c := range told[1:41] {
		require.True(t, IsKind(errorOf(c), NotFound), "%v", errorOf(c))
	}
	require.True(t, IsKind(errorOf(told[41]), Superseded), "%v", errorOf(told[41]))
	require.Equal(t, int64(1), seen.n.Swap(0))

	_, err = s.Heartbeat(t.Context(), InstanceRef{"a", &nobody}, nil)
	require.True(t, IsKind(err, Superseded), "no instance was ever given the nil incarnation: %v", err)
}
