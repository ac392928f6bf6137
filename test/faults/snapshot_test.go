package faults

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/lattice-director/director/api/openmatch/pb"
)

// forgetWriter opens a transaction in a database of the cluster, has it write, and leaves it open until the test ends.
func (r *rig) forgetWriter(database string) {
	r.t.Helper()
	conn, err := pgx.Connect(r.t.Context(), r.cluster.URL(database))
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = conn.Close(context.Background()) })
	for _, sql := range []string{"BEGIN", "CREATE TEMPORARY TABLE forgotten (n int)"} {
		_, err = conn.Exec(r.t.Context(), sql)
		require.NoError(r.t, err)
	}
}

// createMany creates tickets, some at a time, and gives their ids.
func (l *lobby) createMany(ctx context.Context, n int) (ids []string) {
	var mu sync.Mutex
	var creating sync.WaitGroup
	for range 50 {
		creating.Go(func() {
			for range n / 50 {
				err := l.again(ctx, func(ctx context.Context, conn *grpc.ClientConn) error {
					made, err := pb.NewFrontendServiceClient(conn).CreateTicket(ctx, &pb.CreateTicketRequest{Ticket: &pb.Ticket{}})
					if err == nil {
						mu.Lock()
						ids = append(ids, made.GetId())
						mu.Unlock()
					}
					return err
				})
				if err != nil {
					l.t.Error(err)
				}
			}
		})
	}
	creating.Wait()
	return ids
}

// hears waits until a stream of WatchAssignments has sent an assignment.
func (l *lobby) hears(ctx context.Context, id string, conn *grpc.ClientConn) (func() error, error) {
	stream, err := pb.NewFrontendServiceClient(conn).WatchAssignments(ctx, &pb.WatchAssignmentsRequest{TicketId: id})
	return func() error {
		_, err := stream.Recv()
		return err
	}, err
}

// Transactions that wrote something and stay open, in the director's database and in another one of the cluster, hold
// back pg_snapshot_xmin: a feed that is read from there on is read whole at each notice, by each replica.
func TestForgottenWritersDoNotSlowDownAssignments(t *testing.T) {
	t.Parallel()
	const replicas, tickets, together, watched = 2, 4000, 10, 40
	l := newLobby(t, replicas)
	for n := range replicas {
		l.start(n)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	l.forgetWriter("postgres")
	_, err := l.pool.Exec(ctx, "CREATE DATABASE another")
	require.NoError(t, err)
	l.forgetWriter("another")
	ids := l.createMany(ctx, tickets)
	var watchers []func() error
	for i, id := range ids {
		if i%(tickets/watched) == 0 {
			hear, err := l.hears(ctx, id, l.conns[len(watchers)%replicas])
			require.NoError(t, err)
			watchers = append(watchers, hear)
		}
	}
	for n, some := range slices.Collect(slices.Chunk(ids, together)) {
		err := l.again(ctx, func(ctx context.Context, conn *grpc.ClientConn) error {
			_, err := pb.NewBackendServiceClient(conn).AssignTickets(ctx, &pb.AssignTicketsRequest{
				Assignments: []*pb.AssignmentGroup{{TicketIds: some, Assignment: &pb.Assignment{Connection: fmt.Sprint(n)}}},
			})
			return err
		})
		require.NoError(t, err)
	}
	for _, hear := range watchers {
		require.NoError(t, hear(), "a watcher was not told")
	}
	// A backend counts what it read a second late.
	read := func() int {
		return one[int](l.rig, "SELECT coalesce(sum(idx_tup_read), 0)::int FROM pg_stat_user_indexes WHERE indexrelname = 'settled_tickets_in_commit_order'")
	}
	require.Eventually(t, func() bool { return read() >= replicas*tickets/2 }, time.Minute, 100*time.Millisecond)
	t.Logf("%d tickets were assigned, %d rows read by %d replicas", tickets, read(), replicas)
	require.LessOrEqual(t, read(), 5*replicas*tickets, "each row is read once or twice, and once more where a page ends; without bounds it would be a thousand times")
}
