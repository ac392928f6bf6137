package rigtest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lattice-director/director/internal/openmatch/functions/functionstest"
)

// Conns are connections to the Open Match API of some replicas.
type Conns struct {
	AllConns []*grpc.ClientConn
	nextTurn atomic.Int64
}

// DialAll returns connections to addresses, host:port, that are closed when the test ends.
func DialAll(t *testing.T, addrs ...string) *Conns {
	t.Helper()
	c := &Conns{}
	for _, addr := range addrs {
		// The connection is made at the first call, so that the replica may be started later.
		conn := functionstest.Dial(t, addr, grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(16<<20)))
		c.AllConns = append(c.AllConns, conn)
	}
	return c
}

// NextConn returns the connection whose turn it is. Safe for concurrent use.
func (c *Conns) NextConn() *grpc.ClientConn {
	return c.AllConns[int(c.nextTurn.Add(1))%len(c.AllConns)]
}

// RetryCall calls one replica after the other while they are unavailable or refuse because of load. Safe for concurrent
// use.
func (c *Conns) RetryCall(ctx context.Context, ask func(context.Context, *grpc.ClientConn) error) error {
	for {
		// A frozen replica does not answer: after two seconds the next one is called.
		callCtx, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := ask(callCtx, c.NextConn())
		cancel()
		if !isRepeatable(err) || ctx.Err() != nil {
			return err
		}
		PauseFor(ctx, 10*time.Millisecond)
	}
}

// isRepeatable reports whether a client repeats a call after this error: nothing was decided, or the replica is gone.
func isRepeatable(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.ResourceExhausted:
		return true
	default:
		return false
	}
}
