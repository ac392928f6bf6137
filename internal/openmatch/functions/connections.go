package functions

import (
	"container/list"
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/lattice-director/director/internal/base/outbound"
)

// maxRestartWait bounds how long a call waits for a match function that restarts. The wait is also at most the
// registration interval, which the call's cycle lasts anyway.
const maxRestartWait = time.Second

// idleTime is how long a connection without calls stays open: longer than directors wait between two calls of
// FetchMatches. Without a limit, gRPC would reconnect every second, without end, to a function that accepts connections
// and closes them.
const idleTime = 30 * time.Second

// connections caches a gRPC connection for each address; it balances calls over all machines behind a name, round
// robin. Safe for concurrent use.
type connections struct {
	dialer      dialer
	restartWait time.Duration // for a match function that restarts
	idleTimeout time.Duration // without a call, after which a connection is closed until the next call

	mu              sync.Mutex
	openConnections map[address]*connection
	recentlyUsed    *list.List // of *connection, the one used last in front
	isClosed        bool
}

// connection is shared by the calls to an address.
type connection struct {
	client     *grpc.ClientConn
	address    address
	wasRefused atomic.Bool // the allow-list refused the last address
	wasReached atomic.Bool // a TCP connection was once accepted
	wasTried   atomic.Bool // a call has used the connection

	// Guarded by the lock of connections.
	cachePlace *list.Element // nil: retired, no new call uses it
	callCount  int
}

func newConnections(d dialer, restartWait time.Duration) *connections {
	return &connections{dialer: d, restartWait: min(restartWait, maxRestartWait), idleTimeout: idleTime,
		openConnections: map[address]*connection{}, recentlyUsed: list.New()}
}

// acquireConnection returns the connection of an address, which it makes and caches if there is none. The caller must
// call releaseConnection after its call.
func (c *connections) acquireConnection(at address) (*connection, error) {
	at.host = strings.ToLower(at.host) // names of hosts are equal in any case, and share a connection
	c.mu.Lock()
	defer c.mu.Unlock()
	conn := c.openConnections[at]
	if conn == nil {
		var err error
		if conn, err = c.newConnection(at); err != nil {
			return nil, err
		}
		c.cacheConnection(conn)
	}
	if conn.cachePlace != nil {
		c.recentlyUsed.MoveToFront(conn.cachePlace)
	}
	conn.callCount++
	return conn, nil
}

// cacheConnection keeps a connection for later calls, in place of the one that was used least recently if the cache is
// full.
func (c *connections) cacheConnection(conn *connection) {
	if c.isClosed {
		return // a connection that is not cached is closed after its call
	}
	c.openConnections[conn.address] = conn
	conn.cachePlace = c.recentlyUsed.PushFront(conn)
	// Running calls keep the dropped connection: a caller that names many addresses ends no call of others.
	if c.recentlyUsed.Len() > maxConnections {
		c.dropCached(c.recentlyUsed.Back().Value.(*connection))
	}
}

// callAddress makes a call to an address. If the connection is lost before the first answer, it makes the call once
// more on a new connection: the match function may have restarted, perhaps at another address of the same name. try
// makes the call, and reports whether it got an answer.
func (c *connections) callAddress(ctx context.Context, at address,
	try func(*connection) (gotAnswer bool, err error)) error {
	conn, err := c.acquireConnection(at)
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	defer c.releaseConnection(conn)
	isFirst := !conn.wasTried.Swap(true)
	gotAnswer, err := try(conn)
	isLost := !gotAnswer && status.Code(err) == codes.Unavailable && !conn.wasRefused.Load()
	// If no TCP connection was accepted for the first call, nothing listens there that could restart.
	if !isLost || isFirst && !conn.wasReached.Load() || ctx.Err() != nil {
		return conn.explainError(err)
	}
	c.retireConnection(conn)
	fresh, err := c.acquireConnection(at)
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	defer c.releaseConnection(fresh)
	fresh.wasTried.Store(true)
	// The call does not wait for an address that never accepted a connection: the other callers of the cycle would wait,
	// too.
	if conn.wasReached.Load() {
		fresh.awaitReady(ctx, c.restartWait)
	}
	_, err = try(fresh)
	return fresh.explainError(err)
}

func (c *connections) releaseConnection(conn *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	conn.callCount--
	conn.closeUnused()
}

// retireConnection removes a connection from the cache. Running calls keep it.
func (c *connections) retireConnection(conn *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropCached(conn)
}

// closeAll retires all connections, also those that are still to be made.
func (c *connections) closeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isClosed = true
	for _, conn := range c.openConnections {
		c.dropCached(conn)
	}
}

func (c *connections) dropCached(conn *connection) {
	if conn.cachePlace == nil {
		return
	}
	c.recentlyUsed.Remove(conn.cachePlace)
	delete(c.openConnections, conn.address)
	conn.cachePlace = nil
	conn.closeUnused()
}

func (c *connection) closeUnused() {
	if c.cachePlace == nil && c.callCount == 0 {
		_ = c.client.Close() // the only error: it is closed already
	}
}

// newConnection makes a connection, which connects when it is first used. Service configs in TXT records are ignored:
// the name's owner must not configure this client.
func (c *connections) newConnection(at address) (*connection, error) {
	conn := &connection{address: at}
	client, err := grpc.NewClient("dns:///"+url.PathEscape(at.String()), append(c.dialer.tracing.dialOptions(),
		grpc.WithTransportCredentials(c.dialer.callCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			raw, err := c.dialer.outbound.Dial(ctx, at.host, addr)
			conn.wasRefused.Store(errors.Is(err, outbound.ErrRefused))
			if err == nil {
				conn.wasReached.Store(true)
			}
			return raw, err
		}),
		grpc.WithIdleTimeout(c.idleTimeout),
		grpc.WithDisableServiceConfig(),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"round_robin": {}}]}`),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2,
				MaxDelay: time.Second},
			MinConnectTimeout: outbound.ConnectTimeout,
		}),
		// There are pings only during calls: servers disconnect clients that ping more often than they allow.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 20 * time.Second, Timeout: 5 * time.Second}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
		// The windows are fixed, because a dynamic one grows to 16 MiB.
		grpc.WithStaticStreamWindowSize(window), grpc.WithStaticConnWindowSize(window),
	)...)
	conn.client = client
	return conn, err
}

// awaitReady waits until the connection is established, at most for a limit.
func (c *connection) awaitReady(ctx context.Context, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for state := c.client.GetState(); state != connectivity.Ready && !c.wasRefused.Load(); state = c.client.GetState() {
		c.client.Connect() // gRPC connects an idle connection only on request
		if !c.client.WaitForStateChange(ctx, state) {
			return
		}
	}
}

// explainError returns the error of a call for its caller.
func (c *connection) explainError(err error) error {
	// gRPC wraps the refusal of the dialer in a text with the address, which the caller must not learn.
	if status.Code(err) == codes.Unavailable && c.wasRefused.Load() {
		return errNotAllowed
	}
	return err
}

// receiveAll takes all answers of a stream, and reports whether there were any.
func receiveAll[A any](next func() (A, error), take func(A) error) (gotAnswer bool, err error) {
	for {
		answer, err := next()
		if errors.Is(err, io.EOF) {
			return gotAnswer, nil
		}
		if err != nil {
			return gotAnswer, err
		}
		gotAnswer = true
		if err := take(answer); err != nil {
			return gotAnswer, err
		}
	}
}
