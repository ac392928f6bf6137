package rigtest

import (
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Balancer is the one address of several replicas: each connection goes to the next one that accepts it. Safe for
// concurrent use.
type Balancer struct {
	listener net.Listener
	next     atomic.Int64

	mu    sync.Mutex
	addrs []string
}

// NewBalancer listens until the test ends.
func NewBalancer(t *testing.T) *Balancer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b := &Balancer{listener: l}
	t.Cleanup(func() { _ = l.Close() })
	go b.serve()
	return b
}

// Addr returns host:port.
func (b *Balancer) Addr() string { return b.listener.Addr().String() }

// Add adds a replica.
func (b *Balancer) Add(addr string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.addrs = append(b.addrs, addr)
}

// Remove removes a replica, as a load balancer does after a failed health check.
func (b *Balancer) Remove(addr string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.addrs = slices.DeleteFunc(slices.Clone(b.addrs), func(a string) bool { return a == addr })
}

func (b *Balancer) serve() {
	for {
		client, err := b.listener.Accept()
		if err != nil {
			return
		}
		go b.forward(client)
	}
}

func (b *Balancer) forward(client net.Conn) {
	defer func() { _ = client.Close() }()
	replica := b.dial()
	if replica == nil {
		return
	}
	defer func() { _ = replica.Close() }()
	go func() {
		// Whichever side ends first closes both, so that the other copy ends as well.
		_, _ = io.Copy(replica, client)
		_ = replica.Close()
		_ = client.Close()
	}()
	_, _ = io.Copy(client, replica)
}

// dial connects to the next replica that accepts; nil if none does.
func (b *Balancer) dial() net.Conn {
	b.mu.Lock()
	addrs := slices.Clone(b.addrs)
	b.mu.Unlock()
	// Each connection begins at the next replica, whichever one the last connection reached.
	first := int(b.next.Add(1))
	for n := range addrs {
		if replica, err := net.DialTimeout("tcp", addrs[(first+n)%len(addrs)], time.Second); err == nil {
			return replica
		}
	}
	return nil
}
