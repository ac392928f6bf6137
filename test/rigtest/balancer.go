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
	listener  net.Listener
	nextIndex atomic.Int64

	mu          sync.Mutex
	targetAddrs []string
}

// NewBalancer listens until the test ends.
func NewBalancer(t *testing.T) *Balancer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b := &Balancer{listener: l}
	t.Cleanup(func() { _ = l.Close() })
	go b.acceptClients()
	return b
}

// ListenAddr returns host:port.
func (b *Balancer) ListenAddr() string { return b.listener.Addr().String() }

// AddAddr adds a replica.
func (b *Balancer) AddAddr(addr string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.targetAddrs = append(b.targetAddrs, addr)
}

// RemoveAddr removes a replica, as a load balancer does after a failed health check.
func (b *Balancer) RemoveAddr(addr string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.targetAddrs = slices.DeleteFunc(slices.Clone(b.targetAddrs), func(a string) bool { return a == addr })
}

func (b *Balancer) acceptClients() {
	for {
		client, err := b.listener.Accept()
		if err != nil {
			return
		}
		go b.forwardClient(client)
	}
}

func (b *Balancer) forwardClient(client net.Conn) {
	defer func() { _ = client.Close() }()
	replica := b.dialNext()
	// The client sees a connection that ends, as from a load balancer without a target.
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

// dialNext connects to the next replica that accepts; nil if none does.
func (b *Balancer) dialNext() net.Conn {
	b.mu.Lock()
	addrs := slices.Clone(b.targetAddrs)
	b.mu.Unlock()
	// Each connection begins at the next replica, whichever one the last connection reached.
	first := int(b.nextIndex.Add(1))
	for n := range addrs {
		if replica, err := net.DialTimeout("tcp", addrs[(first+n)%len(addrs)], time.Second); err == nil {
			return replica
		}
	}
	return nil
}
