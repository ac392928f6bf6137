package faults

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/test/rigtest"
)

// leaveTransactionOpen opens a transaction in a database of the cluster, writes in it, and leaves it open until the
// test ends.
func (r *rig) leaveTransactionOpen(database string) {
	r.T.Helper()
	conn := must.Get(pgx.Connect(r.T.Context(), r.Cluster.URL(database)))(r.T)
	r.T.Cleanup(func() { _ = conn.Close(context.Background()) })
	for _, sql := range []string{"BEGIN", "CREATE TEMPORARY TABLE forgotten (n int)"} {
		must.Get(conn.Exec(r.T.Context(), sql))(r.T)
	}
}

// Transactions that have written and stay open, in the director's database and in another one of the cluster, hold back
// pg_snapshot_xmin. Pins replicas that read the feed of assignments from there on at each notification, and so read all
// of it.
func TestOpenTransactionsDoNotSlowDownAssignments(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "TestTicketsSurviveKilledReplicas")
	const replicas, tickets, together, watched = 2, 4000, 10, 40
	l := newOMRig(t, replicas)
	for n := range replicas {
		l.startReplica(n)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	l.leaveTransactionOpen("postgres")
	l.ExecSQL("CREATE DATABASE another")
	l.leaveTransactionOpen("another")
	rigtest.Each(tickets, 50, func(int) { _, _ = l.create(ctx, nil) })
	ids := slices.Clone(l.created)
	var watchers []grpc.ServerStreamingClient[pb.WatchAssignmentsResponse]
	for i := range watched {
		stream, err := pb.NewFrontendServiceClient(l.conns.AllConns[i%replicas]).WatchAssignments(ctx,
			&pb.WatchAssignmentsRequest{TicketId: ids[i*tickets/watched]})
		require.NoError(t, err)
		watchers = append(watchers, stream)
	}
	for n, some := range slices.Collect(slices.Chunk(ids, together)) {
		err := l.conns.RetryCall(ctx, func(ctx context.Context, conn *grpc.ClientConn) error {
			return assign(ctx, conn, fmt.Sprint(n), some...)
		})
		require.NoError(t, err)
	}
	for _, stream := range watchers {
		_, err := stream.Recv()
		require.NoError(t, err, "a watcher got no assignment")
	}
	// A backend reports the rows it has read up to a second later.
	read := func() int {
		return one[int](l.rig, "SELECT coalesce(sum(idx_tup_read), 0)::int FROM pg_stat_user_indexes WHERE indexrelname = 'settled_tickets_in_commit_order'")
	}
	require.Eventually(t, func() bool { return read() >= replicas*tickets/2 }, time.Minute, 100*time.Millisecond)
	t.Logf("%d tickets were assigned, %d rows read by %d replicas", tickets, read(), replicas)
	require.LessOrEqual(t, read(), 5*replicas*tickets,
		"each row is read once or twice, and once more where a page ends; without bounds it would be a thousand times")
}
