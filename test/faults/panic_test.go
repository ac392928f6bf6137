package faults

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/await"
	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/internal/testkit/metrictest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// listenerTrap is a log that panics once, at what the listener for notices logs when the first notice arrives: no
// tracer sees the listener's connection.
type listenerTrap struct {
	slog.Handler
	sprung *atomic.Bool
}

const noticesArrive = "notifications arrive"

// Handle implements slog.Handler.
func (p listenerTrap) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == noticesArrive && p.sprung.CompareAndSwap(false, true) {
		panic("a trap at the listener")
	}
	return p.Handler.Handle(ctx, r)
}

// arm makes the replica panic once, at a statement: outside a transaction before it has a connection, because the pool
// would lose one in use.
func (r *embedded) arm(statement string) {
	r.trap.Arm(statement, func() { panic("a trap at " + statement) })
}

// panicked returns how many batches of a group have panicked, as an operator reads it.
func (r *embedded) panicked(group string) float64 {
	r.T.Helper()
	return metrictest.Sum(r.T, r.registry, "director_group_panics_total", "group", group)
}

// problem returns the error of a call, or an answer that is not 200 as one.
func problem(status int, answer fields, err error) error {
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("%d %v: %v", status, answer["code"], answer["detail"])
	}
	return nil
}

const (
	internalProblem = "500 internal: Something failed on our side. The request id finds it in the log."
	internalStatus  = "rpc error: code = Internal desc = internal error"
)

// Pins a replica that a panic ends, or leaves with a lock, a connection or a queue that later calls need.
func TestAReplicaSurvivesPanics(t *testing.T) {
	t.Parallel()
	r := startEmbedded(t)
	instance := fields{"instance_id": "eu-1", "endpoint": "eu-1:7777", "region": "eu", "modes": []string{"duel"},
		"capacity": 8, "boot_id": "b"}
	require.NoError(t, problem(r.PostFleet("/fleet/register", instance)))
	var seat fields
	for _, c := range []struct {
		group, statement, says string
		call                   func() error
	}{
		{"heartbeat", "Heartbeats", internalProblem, func() error {
			return problem(r.PostFleet("/fleet/heartbeat", fields{"instance_id": "eu-1"}))
		}},
		{"placement", "TakeSeats", internalProblem, func() error { // It holds locks when it panics.
			status, answer, err := r.PostPlay("ann", "/matchmake", fields{"region": "eu", "mode": "duel"})
			seat = answer
			return problem(status, answer, err)
		}},
		{"resolve", "ResolveSeats", internalProblem, func() error {
			return problem(r.PostPlay("ann", "/resolve", fields{"session_handle": seat["session_handle"]}))
		}},
		{"ticket", "CreatePlainTickets", internalStatus, func() error {
			_, err := pb.NewFrontendServiceClient(r.conn).CreateTicket(t.Context(),
				&pb.CreateTicketRequest{Ticket: &pb.Ticket{}})
			return err
		}},
	} {
		r.arm(c.statement)
		require.EqualError(t, c.call(), c.says, c.group)
		require.InDelta(t, 1, r.panicked(c.group), 0, c.group)
		require.Contains(t, r.log.String(), `"error":"panic: a trap at `+c.statement+`","stack":"`, c.group)
		require.NoError(t, c.call(), "the next %s", c.group)
	}
	r.RequireInvariants()
}

// Pins a replica that receives no notices any more, or sends none, after one panic.
func TestNoticesSurvivePanics(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "TestAReplicaSurvivesPanics")
	r := startEmbedded(t)
	require.Eventually(t, func() bool { return r.log.Count(noticesArrive) == 1 }, time.Minute, 10*time.Millisecond,
		"the listener connects again")
	require.Equal(t, 1, r.log.Count("listening for notices panicked"))
	require.Contains(t, r.log.String(), `"error":"panic: a trap at the listener","stack":"`)

	notices, stop := storetest.Open(t, r.url).Subscribe(db.TopicTickets, "global")
	defer stop()
	await.Value(t, notices, "a wake-up") // the subscription has begun
	r.arm("SendNotification")
	r.assignOne()
	require.Eventually(t, func() bool { return r.log.Count("sending a notice panicked") == 1 }, time.Minute,
		10*time.Millisecond)
	r.assignOne()
	await.Value(t, notices, "a wake-up")
}

// assignOne assigns a new ticket, of which a replica notifies the others.
func (r *embedded) assignOne() {
	r.T.Helper()
	made := must.Get(pb.NewFrontendServiceClient(r.conn).CreateTicket(r.T.Context(),
		&pb.CreateTicketRequest{Ticket: &pb.Ticket{}}))(r.T)
	require.NoError(r.T, assign(r.T.Context(), r.conn, "eu-1:7777", made.GetId()))
}
