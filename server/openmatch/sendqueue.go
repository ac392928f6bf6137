package openmatch

import (
	"container/list"
	"context"
	"net"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

const (
	// queueWait is how long an answer waits for room in the queues, and how old the oldest answer on a connection has to be for
	// the connection to be closed in its favour.
	queueWait = time.Second
	// smallAnswer, in bytes, is not counted: gRPC does not say when it lets go of so little.
	smallAnswer = 1 << 10
)

// errQueuesFull ends a call whose answer finds no room.
var errQueuesFull = status.Error(codes.ResourceExhausted, "clients of this replica leave too many answers unread: call again, another one may have room")

// sendQueues count the answers that gRPC holds until clients take them. gRPC lets go of what was sent on a stream when the client
// takes it, resets the stream or closes the connection, but not when the call ends here. So the connection of a client that does not
// take an answer within the patience is closed. Safe for concurrent use.
type sendQueues struct {
	patience time.Duration
	room     *semaphore.Weighted // bytes of all answers but queries', which have room of their own

	mu      sync.Mutex
	answers list.List // of *queuedAnswer on clients' connections, the oldest first
	checks  bool      // a check is due
}

func newSendQueues(patience time.Duration, most int) *sendQueues {
	return &sendQueues{patience: patience, room: semaphore.NewWeighted(int64(max(most, 2*maxMessage)))}
}

// take waits for room, and makes it at the cost of the connection whose client is furthest behind.
func (q *sendQueues) take(ctx context.Context, bytes int64) error {
	for {
		waiting, cancel := context.WithTimeout(ctx, queueWait)
		err := q.room.Acquire(waiting, bytes)
		cancel()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !q.closeSlowest(queueWait):
			return errQueuesFull
		}
	}
}

// push adds an answer, which is there until its release.
func (q *sendQueues) push(a *queuedAnswer) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if a.conn == nil || a.conn.inside || a.conn.closed { // on a closed one, gRPC releases it at once
		return
	}
	a.at, a.place = time.Now(), q.answers.PushBack(a)
	q.checkIn(q.patience)
}

func (q *sendQueues) remove(a *queuedAnswer) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if a.place != nil {
		q.answers.Remove(a.place)
		a.place = nil
	}
}

// checkIn has the oldest answer looked at, once; the caller holds the lock.
func (q *sendQueues) checkIn(d time.Duration) {
	if !q.checks {
		q.checks = true
		time.AfterFunc(d, q.check)
	}
}

// check closes the connections of clients that have left an answer for the patience.
func (q *sendQueues) check() {
	for q.closeSlowest(q.patience) {
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.checks = false
	if first := q.answers.Front(); first != nil {
		q.checkIn(q.patience - time.Since(first.Value.(*queuedAnswer).at))
	}
}

// closeSlowest closes the connection with the oldest answer, if that is so old.
func (q *sendQueues) closeSlowest(age time.Duration) bool {
	q.mu.Lock()
	first := q.answers.Front()
	if first == nil || time.Since(first.Value.(*queuedAnswer).at) < age {
		q.mu.Unlock()
		return false
	}
	slowest := first.Value.(*queuedAnswer).conn
	q.mu.Unlock()
	_ = slowest.Close() // which a client that is gone already does not mind
	return true
}

// queueingConn is a connection of a client, which answers wait on.
type queueingConn struct {
	net.Conn
	queues *sendQueues
	inside bool // the gateway's, which all callers over REST share: what one of them does not take ends with its request
	closed bool // guarded by the queues
}

func (q *sendQueues) wrap(conn net.Conn) *queueingConn {
	_, inside := conn.(insideConn)
	return &queueingConn{Conn: conn, queues: q, inside: inside}
}

// Close implements net.Conn. gRPC calls it, too, and does not release all that it held.
func (c *queueingConn) Close() error {
	for _, a := range c.close() {
		a.release()
	}
	return c.Conn.Close()
}

func (c *queueingConn) close() (left []*queuedAnswer) {
	c.queues.mu.Lock()
	defer c.queues.mu.Unlock()
	c.closed = true
	for e := c.queues.answers.Front(); e != nil; e = e.Next() {
		if a := e.Value.(*queuedAnswer); a.conn == c {
			left = append(left, a)
		}
	}
	return left
}

// queuedAnswer is an answer on its way through gRPC: a message, or the bytes of one.
type queuedAnswer struct {
	message proto.Message // nil: encoded
	encoded []byte
	size    int64
	room    *semaphore.Weighted // gets the size back on release
	queues  *sendQueues
	conn    *queueingConn // nil where gRPC was not made by this package

	at    time.Time     // guarded by the queues
	place *list.Element // the same; nil: in no list
	once  sync.Once
	sent  bool // gRPC has it, and releases it
}

func (a *queuedAnswer) release() {
	a.once.Do(func() {
		a.queues.remove(a)
		a.room.Release(a.size)
	})
}

// Put implements [mem.BufferPool]: gRPC gives the bytes back when it is done with them.
func (a *queuedAnswer) Put(*[]byte) { a.release() }

// Get implements [mem.BufferPool]; gRPC never calls it.
func (a *queuedAnswer) Get(length int) *[]byte { return new(make([]byte, length)) }

// queueingCodec is protobuf for messages and for queued answers.
type queueingCodec struct{ encoding.CodecV2 }

func newQueueingCodec() queueingCodec { return queueingCodec{encoding.GetCodecV2(protocodec.Name)} }

// Marshal implements [encoding.CodecV2].
func (c queueingCodec) Marshal(v any) (mem.BufferSlice, error) {
	a, ok := v.(*queuedAnswer)
	if !ok {
		return c.CodecV2.Marshal(v)
	}
	if a.message != nil {
		var err error
		if a.encoded, err = encodedOf(a.message, int(a.size)); err != nil {
			return nil, err
		}
		a.message = nil // which would be kept as long as its bytes are
	}
	a.sent = true
	if mem.IsBelowBufferPoolingThreshold(cap(a.encoded)) {
		a.release() // gRPC does not say when it lets go of so little
	}
	return mem.BufferSlice{mem.NewBuffer(&a.encoded, a)}, nil
}

// encodedOf encodes a message of that many bytes. One that consists of what it does not know (see raw) is encoded already.
func encodedOf(m proto.Message, size int) ([]byte, error) {
	if encoded := m.ProtoReflect().GetUnknown(); len(encoded) == size {
		return encoded, nil
	}
	return proto.Marshal(m)
}

// knownConn is what gRPC is told of a connection: who is there, and the connection itself.
type knownConn struct {
	credentials.AuthInfo
	conn *queueingConn
}

// connOf is the connection that a call came on; nil where gRPC was not made by this package.
func connOf(ctx context.Context) *queueingConn {
	if p, ok := peer.FromContext(ctx); ok {
		if known, ok := p.AuthInfo.(knownConn); ok {
			return known.conn
		}
	}
	return nil
}

// queued makes an answer one that is counted while gRPC holds it. One that is small, or counted already, stays as it is. Errors:
// errQueuesFull, why ctx ended.
func (q *sendQueues) queued(ctx context.Context, answer any) (any, error) {
	m, ok := answer.(proto.Message)
	if !ok {
		return answer, nil
	}
	size := int64(proto.Size(m))
	if size <= smallAnswer {
		return answer, nil
	}
	if err := q.take(ctx, size); err != nil {
		return nil, err
	}
	a := &queuedAnswer{message: m, size: size, room: q.room, queues: q, conn: connOf(ctx)}
	q.push(a)
	return a, nil
}

// queueingStream counts what a call sends.
type queueingStream struct {
	grpc.ServerStream
	queues *sendQueues
}

// SendMsg implements [grpc.ServerStream].
func (s queueingStream) SendMsg(v any) error {
	v, err := s.queues.queued(s.Context(), v)
	if err != nil {
		return err
	}
	err = s.ServerStream.SendMsg(v)
	if a, ok := v.(*queuedAnswer); ok && !a.sent {
		a.release() // it has not come as far as gRPC
	}
	return err
}
