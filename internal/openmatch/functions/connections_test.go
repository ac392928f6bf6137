package functions

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/connectivity"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/openmatch/functions/functionstest"
)

func makeConnections(t *testing.T) *connections {
	c := newConnections(dialer{}, time.Second)
	t.Cleanup(c.closeAll)
	return c
}

func TestConnectionIsShared(t *testing.T) {
	t.Parallel()
	c := makeConnections(t)
	a, err := c.acquireConnection(address{host: "Localhost", port: 1})
	require.NoError(t, err)
	b, err := c.acquireConnection(address{host: "localhost", port: 1})
	require.NoError(t, err)
	require.Same(t, a, b)
	c.releaseConnection(a)
	c.releaseConnection(b)
	require.NotEqual(t, connectivity.Shutdown, a.client.GetState(), "kept for the next call")
}

// Pins a replica that reconnects each second for ever to a server that accepts connections and closes them.
func TestAConnectionWithoutCallsIsNotMadeAnew(t *testing.T) {
	t.Parallel()
	l := functionstest.Listen(t, "127.0.0.1:0")
	defer func() { _ = l.Close() }()
	accepted := make(chan struct{}, 1000)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- struct{}{}
			_ = conn.Close()
		}
	}()
	c := makeConnections(t)
	c.idleTimeout = 100 * time.Millisecond
	at, err := addressOf(functionstest.ConfigOf(l.Addr()))
	require.NoError(t, err)
	call := func(conn *connection) (bool, error) {
		some, _, err := conn.runFunction(t.Context(), &pb.MatchProfile{}, func(*pb.Match) error { return nil })
		return some, err
	}
	for range 2 { // an idle connection is made when it is called
		require.Error(t, c.callAddress(t.Context(), at, call))
		<-accepted
		conn, err := c.acquireConnection(at)
		require.NoError(t, err)
		require.Eventually(t, func() bool { return conn.client.GetState() == connectivity.Idle }, 20*time.Second,
			time.Millisecond)
		c.releaseConnection(conn)
		for len(accepted) > 0 {
			<-accepted
		}
	}
}

// Callers that name ever new addresses evict other connections from the cache, but cancel no calls.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	c := makeConnections(t)
	used, err := c.acquireConnection(address{host: "localhost", port: 1})
	require.NoError(t, err)
	for port := range maxConnections + 10 {
		conn, err := c.acquireConnection(address{host: "localhost", port: 1000 + port})
		require.NoError(t, err)
		c.releaseConnection(conn)
	}
	require.Len(t, c.openConnections, maxConnections)
	require.Equal(t, maxConnections, c.recentlyUsed.Len())
	require.Nil(t, used.cachePlace, "the least recently used one")
	require.NotEqual(t, connectivity.Shutdown, used.client.GetState())
	c.releaseConnection(used)
	require.Equal(t, connectivity.Shutdown, used.client.GetState())
}

func TestTheConnectionUsedLastStays(t *testing.T) {
	t.Parallel()
	c := makeConnections(t)
	var first *connection
	for port := range maxConnections + 10 {
		for _, p := range []int{1, 1000 + port} {
			conn, err := c.acquireConnection(address{host: "localhost", port: p})
			require.NoError(t, err)
			if p == 1 && first == nil {
				first = conn
			}
			c.releaseConnection(conn)
		}
	}
	require.Same(t, first, c.openConnections[address{host: "localhost", port: 1}])
}

// Two calls that both find a connection broken replace it once.
func TestRetireLeavesTheNextConnection(t *testing.T) {
	t.Parallel()
	c := makeConnections(t)
	at := address{host: "localhost", port: 1}
	broken, err := c.acquireConnection(at)
	require.NoError(t, err)
	c.retireConnection(broken)
	next, err := c.acquireConnection(at)
	require.NoError(t, err)
	c.retireConnection(broken)
	require.Same(t, next, c.openConnections[at])
	c.releaseConnection(next)
	c.releaseConnection(broken)
	require.Equal(t, connectivity.Shutdown, broken.client.GetState())
	require.NotEqual(t, connectivity.Shutdown, next.client.GetState())
}

func TestCloseLetsCallsFinish(t *testing.T) {
	t.Parallel()
	c := makeConnections(t)
	conn, err := c.acquireConnection(address{host: "localhost", port: 1})
	require.NoError(t, err)
	c.closeAll()
	require.NotEqual(t, connectivity.Shutdown, conn.client.GetState())
	c.releaseConnection(conn)
	require.Equal(t, connectivity.Shutdown, conn.client.GetState())

	late, err := c.acquireConnection(address{host: "localhost", port: 1})
	require.NoError(t, err)
	c.releaseConnection(late)
	require.Equal(t, connectivity.Shutdown, late.client.GetState(), "nothing would close it later")
}

func TestConnectionsOfManyCalls(t *testing.T) {
	t.Parallel()
	c := makeConnections(t)
	var calls sync.WaitGroup
	for i := range 16 {
		calls.Go(func() {
			for n := range 100 {
				conn, err := c.acquireConnection(address{host: "localhost", port: 1 + (n*i)%40})
				if err != nil || conn.client.GetState() == connectivity.Shutdown {
					panic("a call got a closed connection")
				}
				if n%7 == 0 {
					c.retireConnection(conn)
				}
				c.releaseConnection(conn)
			}
		})
	}
	calls.Wait()
	for _, conn := range c.openConnections {
		require.Zero(t, conn.callCount)
	}
}

// Waiting for an unreachable address ends with the context.
func TestBecomeReadyEndsWithTheContext(t *testing.T) {
	t.Parallel()
	l := functionstest.Listen(t, "127.0.0.1:0")
	l.Close()
	at, err := addressOf(functionstest.ConfigOf(l.Addr()))
	require.NoError(t, err)
	c := makeConnections(t)
	conn, err := c.acquireConnection(at)
	require.NoError(t, err)
	defer c.releaseConnection(conn)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	conn.awaitReady(ctx, time.Hour)
	require.NotEqual(t, connectivity.Ready, conn.client.GetState())
}
