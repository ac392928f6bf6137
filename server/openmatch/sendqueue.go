package openmatch

import (
	"container/list"
	"context"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

const (
	// queueWait is how long an answer waits for room in the queues. After that, the connection with the oldest answer
	// is closed if that answer is at least as old.
	queueWait = time.Second
	// smallAnswer is the size, in bytes, up to which answers are not counted: gRPC does not report when it frees them.
	smallAnswer = 1 << 10
)

// errQueuesFull ends a call whose answer finds no room in the queues.
var errQueuesFull = status.Error(codes.ResourceExhausted,
	"clients of this replica leave too many answers unread: call again, another one may have room")

// sendQueues bound the memory of answers that gRPC holds until clients read them. gRPC frees an answer when the client
// reads it, resets the stream or closes the connection, but not when the call ends on this side. So a connection whose
// client does not read an answer within the timeout is closed. Safe for concurrent use.
type sendQueues struct {
	unreadTimeout time.Duration
	freeBytes     *semaphore.Weighted // bytes of all answers but those of queries, which have a bound of their own

	mu            sync.Mutex
	queuedAnswers list.List                  // of *queuedAnswer on clients' connections, the oldest first
	clientConns   map[*queueingConn]struct{} // of clients, open
	hasCheck      bool                       // a check of the oldest answer is scheduled
}

func newSendQueues(timeout time.Duration, limit int) *sendQueues {
	// An answer larger than the semaphore would be refused, however empty the queues are.
	return &sendQueues{unreadTimeout: timeout, freeBytes: semaphore.NewWeighted(int64(max(limit, 2*maxMessage))),
		clientConns: map[*queueingConn]struct{}{}}
}

// takeRoom waits for room, and makes room by closing the connection with the oldest answer.
func (q *sendQueues) takeRoom(ctx context.Context, bytes int64) error {
	for {
		waiting, cancel := context.WithTimeout(ctx, queueWait)
		err := q.freeBytes.Acquire(waiting, bytes)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		hasClosed := q.closeSlowest(queueWait)
		// All answers in the queues are young: the clients read, and there is simply too much at once.
		if !hasClosed {
			return errQueuesFull
		}
	}
}

// pushAnswer adds an answer until its release.
func (q *sendQueues) pushAnswer(a *queuedAnswer) {
	q.mu.Lock()
	defer q.mu.Unlock()
	// gRPC frees an answer of the gateway with its request, and those on a closed connection at once.
	if a.conn == nil || a.conn.isGateway || a.conn.isClosed {
		return
	}
	a.queuedAt, a.listPlace = time.Now(), q.queuedAnswers.PushBack(a)
	q.checkIn(q.unreadTimeout)
}

func (q *sendQueues) removeAnswer(a *queuedAnswer) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if a.listPlace != nil {
		q.queuedAnswers.Remove(a.listPlace)
		a.listPlace = nil
	}
}

// checkIn schedules a check of the oldest answer unless one is scheduled. The caller holds the lock.
func (q *sendQueues) checkIn(d time.Duration) {
	if !q.hasCheck {
		q.hasCheck = true
		time.AfterFunc(d, q.closeOverdue)
	}
}

// closeOverdue closes the connections with an answer older than the timeout.
func (q *sendQueues) closeOverdue() {
	for hasClosed := true; hasClosed; {
		hasClosed = q.closeSlowest(q.unreadTimeout)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.hasCheck = false
	// The next check is when the oldest answer becomes overdue: without unread answers no timer runs.
	if first := q.queuedAnswers.Front(); first != nil {
		q.checkIn(q.unreadTimeout - time.Since(first.Value.(*queuedAnswer).queuedAt))
	}
}

// closeSlowest closes the connection with the oldest answer, if that is at least age old. It returns false if no answer
// is.
func (q *sendQueues) closeSlowest(age time.Duration) (hasClosed bool) {
	q.mu.Lock()
	first := q.queuedAnswers.Front()
	if first == nil || time.Since(first.Value.(*queuedAnswer).queuedAt) < age {
		q.mu.Unlock()
		return false
	}
	slowest := first.Value.(*queuedAnswer).conn
	// Close takes the lock, to find the answers of the connection.
	q.mu.Unlock()
	_ = slowest.Close() // an error means that it is closed already
	return true
}

// queueingConn is a client's connection, with answers that the client has not read.
type queueingConn struct {
	net.Conn
	queues *sendQueues
	// of the gateway, which all REST callers share; an answer that a caller does not read ends with its request
	isGateway bool
	isClosed  bool // guarded by the queues

	openCalls atomic.Int64 // whose request has arrived and whose answer has not been given to gRPC
	lastEnded atomic.Int64 // when the last call ended, or the connection began, in Unix nanoseconds
}

// wrapConn returns a connection whose answers are counted. closeIdle never closes that of the gateway.
func (q *sendQueues) wrapConn(conn net.Conn) *queueingConn {
	_, isGateway := conn.(gatewayConn)
	c := &queueingConn{Conn: conn, queues: q, isGateway: isGateway}
	c.lastEnded.Store(time.Now().UnixNano())
	q.mu.Lock()
	defer q.mu.Unlock()
	if !isGateway {
		q.clientConns[c] = struct{}{}
	}
	return c
}

// beginCall counts a call whose request has arrived. c is nil on a gRPC server of another package.
func (c *queueingConn) beginCall() {
	if c != nil {
		c.openCalls.Add(1)
	}
}

// endCall counts a call that was answered.
func (c *queueingConn) endCall() {
	if c != nil {
		c.lastEnded.Store(time.Now().UnixNano())
		c.openCalls.Add(-1)
	}
}

// closeIdle closes the connections of clients that have had no call for a time.
func (q *sendQueues) closeIdle(age time.Duration) {
	before := time.Now().Add(-age).UnixNano()
	for _, c := range q.openConns() {
		// A connection whose last answer is still on its way has ended its call a moment ago: the age gives it time.
		if c.openCalls.Load() == 0 && c.lastEnded.Load() < before {
			_ = c.Close() // an error means that it is closed already
		}
	}
}

func (q *sendQueues) openConns() []*queueingConn {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Collect(maps.Keys(q.clientConns))
}

// Close implements net.Conn. It releases the answers on the connection: gRPC, which calls Close too, does not release
// all that it holds, and an answer that both release is counted once.
func (c *queueingConn) Close() error {
	for _, a := range c.detachAnswers() {
		a.releaseMemory()
	}
	return c.Conn.Close()
}

// detachAnswers returns the answers on a connection that is being closed. Later ones are not queued on it.
func (c *queueingConn) detachAnswers() (left []*queuedAnswer) {
	c.queues.mu.Lock()
	defer c.queues.mu.Unlock()
	c.isClosed = true
	delete(c.queues.clientConns, c)
	for e := c.queues.queuedAnswers.Front(); e != nil; e = e.Next() {
		if a := e.Value.(*queuedAnswer); a.conn == c {
			left = append(left, a)
		}
	}
	return left
}

// queuedAnswer is an answer in gRPC: a message, or an encoded one.
type queuedAnswer struct {
	message    proto.Message // nil: encoded
	encoded    []byte
	byteCount  int64
	memoryLeft *semaphore.Weighted // gets byteCount back on release
	queues     *sendQueues
	conn       *queueingConn // nil on a gRPC server of another package

	queuedAt    time.Time     // guarded by the queues
	listPlace   *list.Element // guarded by the queues; nil: in no list
	releaseOnce sync.Once
	isSent      bool // to gRPC, which releases it
}

func (a *queuedAnswer) releaseMemory() {
	a.releaseOnce.Do(func() {
		a.queues.removeAnswer(a)
		a.memoryLeft.Release(a.byteCount)
	})
}

// Put implements [mem.BufferPool]: gRPC calls it when it no longer needs the bytes.
func (a *queuedAnswer) Put(*[]byte) { a.releaseMemory() }

// Get implements [mem.BufferPool]; gRPC never calls it.
func (a *queuedAnswer) Get(length int) *[]byte { return new(make([]byte, length)) }

// knownConn is the AuthInfo of a connection, with the connection itself.
type knownConn struct {
	auth credentials.AuthInfo
	conn *queueingConn
}

// AuthType implements credentials.AuthInfo.
func (k knownConn) AuthType() string { return k.auth.AuthType() }

// connOf returns the connection of a call; nil on a gRPC server of another package.
func connOf(ctx context.Context) *queueingConn {
	if p, ok := peer.FromContext(ctx); ok {
		if known, ok := p.AuthInfo.(knownConn); ok {
			return known.conn
		}
	}
	return nil
}

// queueAnswer wraps an answer so that it is counted while gRPC holds it. Small answers, and those already counted, are
// returned as they are. Errors: errQueuesFull, ctx's.
func (q *sendQueues) queueAnswer(ctx context.Context, answer any) (any, error) {
	m, ok := answer.(proto.Message)
	if !ok {
		return answer, nil
	}
	size := int64(proto.Size(m))
	if size <= smallAnswer {
		return answer, nil
	}
	// The wait comes before the encoding: a call that waits for room holds the message, and not also its bytes.
	if err := q.takeRoom(ctx, size); err != nil {
		return nil, err
	}
	a := &queuedAnswer{message: m, byteCount: size, memoryLeft: q.freeBytes, queues: q, conn: connOf(ctx)}
	q.pushAnswer(a)
	return a, nil
}

// queueingStream counts the messages that a call sends.
type queueingStream struct {
	grpc.ServerStream
	queues *sendQueues
}

// SendMsg implements [grpc.ServerStream].
func (s queueingStream) SendMsg(v any) error {
	v, err := s.queues.queueAnswer(s.Context(), v)
	if err != nil {
		return err
	}
	err = s.ServerStream.SendMsg(v)
	if a, ok := v.(*queuedAnswer); ok && !a.isSent {
		a.releaseMemory() // gRPC did not get it
	}
	return err
}
