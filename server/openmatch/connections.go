package openmatch

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
)

// maxConnections is how many addresses are remembered: more than anybody has match functions, and few enough that callers
// who name ever new ones cost little.
const maxConnections = 256

// mostPatience is how long a call waits for somebody who is being restarted: no longer than a cycle lets others join,
// which it waits for anyway, and no longer than this.
const mostPatience = time.Second

// idleTime is longer than directors wait between two calls of FetchMatches. While a connection is not idle, gRPC makes it
// anew whenever it ends: each second for ever, where a function accepts connections and closes them.
const idleTime = 30 * time.Second

// connections keeps a gRPC connection for each address, which finds all machines behind a name and takes them in turns.
// It may be used from many goroutines.
type connections struct {
	dialer   dialer
	patience time.Duration // with who is being restarted
	idle     time.Duration // without a call, after which a connection is closed until the next one

	mu     sync.Mutex
	open   map[address]*connection
	recent *list.List // of *connection, the one used last in front
	closed bool
}

// connection is shared by the calls to an address.
type connection struct {
	*grpc.ClientConn
	at      address
	refused atomic.Bool // whether the rules refused the address tried last
	reached atomic.Bool // whether somebody ever took the connection
	tried   atomic.Bool // by a call

	// These belong to the lock of connections.
	place *list.Element // nil once no new call gets it
	calls int
}

func newConnections(d dialer, patience time.Duration) *connections {
	return &connections{dialer: d, patience: min(patience, mostPatience), idle: idleTime, open: map[address]*connection{}, recent: list.New()}
}

// use gives the connection of an address, which must be given back with done.
func (c *connections) use(at address) (*connection, error) {
	at.host = strings.ToLower(at.host)
	c.mu.Lock()
	defer c.mu.Unlock()
	conn := c.open[at]
	if conn == nil {
		var err error
		if conn, err = c.dial(at); err != nil {
			return nil, err
		}
		c.remember(conn)
	}
	if conn.place != nil {
		c.recent.MoveToFront(conn.place)
	}
	conn.calls++
	return conn, nil
}

func (c *connections) remember(conn *connection) {
	if c.closed {
		return // this call is the last that has it
	}
	c.open[conn.at] = conn
	conn.place = c.recent.PushFront(conn)
	if c.recent.Len() > maxConnections {
		c.forget(c.recent.Back().Value.(*connection))
	}
}

// call makes a call to an address. When nobody is reached, or who was reached went away without a word, it is made again on
// a new connection, because they may have been restarted, here or at another address, since this one was made. try
// tells whether there were some words.
func (c *connections) call(ctx context.Context, at address, try func(*connection) (some bool, err error)) error {
	conn, err := c.use(at)
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	defer c.done(conn)
	first := !conn.tried.Swap(true)
	some, err := try(conn)
	lost := !some && status.Code(err) == codes.Unavailable && !conn.refused.Load()
	if !lost || first && !conn.reached.Load() || ctx.Err() != nil {
		return conn.explain(err)
	}
	c.retire(conn)
	fresh, err := c.use(at)
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	defer c.done(fresh)
	fresh.tried.Store(true)
	if conn.reached.Load() { // who never was there is not waited for: others wait, too
		fresh.becomeReady(ctx, c.patience)
	}
	_, err = try(fresh)
	return fresh.explain(err)
}

func (c *connections) done(conn *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	conn.calls--
	conn.closeUnused()
}

// retire keeps new calls off a connection. Those that have it keep it.
func (c *connections) retire(conn *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(conn)
}

// close retires all connections, and those that are still to come.
func (c *connections) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, conn := range c.open {
		c.forget(conn)
	}
}

func (c *connections) forget(conn *connection) {
	if conn.place == nil {
		return
	}
	c.recent.Remove(conn.place)
	delete(c.open, conn.at)
	conn.place = nil
	conn.closeUnused()
}

func (c *connection) closeUnused() {
	if c.place == nil && c.calls == 0 {
		_ = c.Close() // all that can go wrong is that it is closed already
	}
}

// dial makes a connection, which connects when it is first used. Where the name's owner may say how it is called (TXT
// records), it is not listened to.
func (c *connections) dial(at address) (*connection, error) {
	conn := &connection{at: at}
	client, err := grpc.NewClient("dns:///"+url.PathEscape(at.String()), append(c.dialer.tracing.ofClient(),
		grpc.WithTransportCredentials(c.dialer.credentials()),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			raw, err := c.dialer.connect(ctx, at.host, addr)
			conn.refused.Store(errors.Is(err, errRefused))
			if err == nil {
				conn.reached.Store(true)
			}
			return raw, err
		}),
		grpc.WithIdleTimeout(c.idle),
		grpc.WithDisableServiceConfig(),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"round_robin": {}}]}`),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: connectTimeout,
		}),
		// Only while a call is under way: servers hang up on who pings them more often than they expect.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 20 * time.Second, Timeout: 5 * time.Second}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
		grpc.WithStaticStreamWindowSize(window), grpc.WithStaticConnWindowSize(window), // what they may send ahead; else up to 16 MiB each
	)...)
	conn.ClientConn = client
	return conn, err
}

// becomeReady waits until somebody answers at the address, but no longer than that.
func (c *connection) becomeReady(ctx context.Context, patience time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for state := c.GetState(); state != connectivity.Ready && !c.refused.Load(); state = c.GetState() {
		c.Connect()
		if !c.WaitForStateChange(ctx, state) {
			return
		}
	}
}

// explain is what a caller hears of a call's error.
func (c *connection) explain(err error) error {
	if status.Code(err) == codes.Unavailable && c.refused.Load() {
		return errNotAllowed
	}
	return err
}

// receive takes all answers of a stream, and tells whether there were some.
func receive[A any](next func() (A, error), take func(A) error) (some bool, err error) {
	for {
		answer, err := next()
		if errors.Is(err, io.EOF) {
			return some, nil
		}
		if err != nil {
			return some, err
		}
		some = true
		if err := take(answer); err != nil {
			return some, err
		}
	}
}
