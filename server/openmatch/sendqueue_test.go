package openmatch

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/lattice-director/director/api/openmatch/pb"
)

// maxQueued is the room of these tests.
const maxQueued = 10 << 20

// queuedOn adds an answer of some bytes on a connection, as if gRPC held it.
func queuedOn(t *testing.T, q *sendQueues, c *queueingConn, size int64) *queuedAnswer {
	t.Helper()
	require.NoError(t, q.takeRoom(t.Context(), size))
	a := &queuedAnswer{byteCount: size, memoryLeft: q.freeBytes, queues: q, conn: c}
	q.pushAnswer(a)
	return a
}

func clientOf(t *testing.T, q *sendQueues) (*queueingConn, net.Conn) {
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = ours.Close(); _ = theirs.Close() })
	return q.wrapConn(ours), theirs
}

// closed waits until the other side has closed a connection.
func closed(t *testing.T, theirs net.Conn) {
	t.Helper()
	_, err := theirs.Read(make([]byte, 1))
	require.EqualError(t, err, "EOF")
}

// Pins answers that are held for as long as the connection of a client that does not read.
func TestUnreadAnswersCloseTheirConnection(t *testing.T) {
	t.Parallel()
	q := newSendQueues(50*time.Millisecond, maxQueued)
	deaf, theirs := clientOf(t, q)
	reads, _ := clientOf(t, q)
	queuedOn(t, q, deaf, maxQueued/2)
	queuedOn(t, q, reads, maxQueued/2).releaseMemory()
	closed(t, theirs)
	require.False(t, reads.isClosed)
	require.True(t, q.freeBytes.TryAcquire(maxQueued), "all room is free")
	q.pushAnswer(&queuedAnswer{conn: deaf, queues: q})
	require.Zero(t, q.queuedAnswers.Len(), "nothing is kept on a closed connection")
}

// Pins answers that are refused, or have no bound, because other clients do not read.
func TestTheSlowestConnectionMakesRoom(t *testing.T) {
	t.Parallel()
	q := newSendQueues(time.Hour, maxQueued)
	deaf, theirs := clientOf(t, q)
	fresh, _ := clientOf(t, q)
	queuedOn(t, q, deaf, maxQueued)
	queuedOn(t, q, fresh, maxQueued) // waits until the deaf one's answer is too old
	closed(t, theirs)
	require.False(t, fresh.isClosed)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, q.takeRoom(ctx, 1), context.Canceled)
}

// Pins a slow REST caller that closes the gateway's connection, which all REST callers share.
func TestTheGatewaysConnectionStays(t *testing.T) {
	t.Parallel()
	q := newSendQueues(time.Millisecond, maxQueued)
	ours, theirs := net.Pipe()
	defer func() { _ = theirs.Close() }()
	defer func() { _ = ours.Close() }()
	gateway := q.wrapConn(gatewayConn{ours})
	queuedOn(t, q, gateway, maxQueued)
	require.Equal(t, errQueuesFull, q.takeRoom(t.Context(), 1))
	require.False(t, gateway.isClosed)
}

func TestQueueingCodecReleases(t *testing.T) {
	t.Parallel()
	q := newSendQueues(time.Hour, maxQueued)
	for _, size := range []int{10, 1 << 20} {
		conn, _ := clientOf(t, q)
		a := queuedOn(t, q, conn, maxQueued)
		a.message = &pb.Ticket{Id: string(make([]byte, size))}
		data, err := newQueueingCodec().Marshal(a)
		require.NoError(t, err)
		var back pb.Ticket
		require.NoError(t, proto.Unmarshal(data.Materialize(), &back))
		require.Len(t, back.GetId(), size)
		data.Ref() // gRPC's queue
		data.Free()
		require.Equal(t, size == 10, q.freeBytes.TryAcquire(1), "held until gRPC frees it")
		if size == 10 {
			q.freeBytes.Release(1)
		}
		data.Free()
		require.True(t, q.freeBytes.TryAcquire(maxQueued))
		q.freeBytes.Release(maxQueued)
	}
}
