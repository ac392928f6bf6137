package dbtest

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Forward passes the bytes of one connection between a client and Postgres until either side ends. When it returns, the
// proxy closes both sides. ctx ends with the test.
type Forward func(ctx context.Context, client, server net.Conn)

// Proxy forwards connections to a Postgres, and fails in the ways that a network does. It ends with its test. Its
// methods are safe for concurrent use.
type Proxy struct {
	URL string // of the database, through the proxy and without TLS

	t               testing.TB
	network, target string // the address of Postgres
	forward         Forward
	goroutines      sync.WaitGroup
	pauseGate       sync.RWMutex // locked while the proxy is paused

	mu       sync.Mutex
	address  string       // on which it listens, after Shut as well
	listener net.Listener // nil while the proxy is shut
	conns    map[net.Conn]struct{}
}

// NewProxy returns an open proxy in front of the database of a URL. Without a forward it passes all bytes unchanged.
func NewProxy(t testing.TB, databaseURL string, forward Forward) *Proxy {
	t.Helper()
	config, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		t.Fatalf("dbtest: the proxy's database: %v", err)
	}
	p := &Proxy{t: t, forward: forward, conns: map[net.Conn]struct{}{}, address: "127.0.0.1:0"}
	if forward == nil {
		p.forward = p.forwardAll
	}
	p.network, p.target = pgconn.NetworkAddress(config.Host, config.Port)
	p.Open()
	t.Cleanup(p.endAll)
	host, port, _ := net.SplitHostPort(p.address) // the kernel's own text
	p.URL = WithParameters(t, databaseURL, "host", host, "port", port, "sslmode", "disable")
	return p
}

// Open accepts connections, after [Proxy.Shut] on the same address as before.
func (p *Proxy) Open() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	listener, err := net.Listen("tcp", p.address)
	if err != nil {
		p.t.Fatalf("dbtest: the proxy: %v", err)
	}
	p.listener, p.address = listener, listener.Addr().String()
	p.goroutines.Go(func() { p.acceptAll(listener) })
}

// Shut closes all connections, and refuses new ones.
func (p *Proxy) Shut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		_ = p.listener.Close()
	}
	p.listener = nil
	for conn := range p.conns {
		_ = conn.Close()
	}
}

// Pause holds back all bytes, and the ends of connections, so that neither side sees an error. It has no effect on a
// proxy with a forward of its own.
func (p *Proxy) Pause() { p.pauseGate.Lock() }

// Resume ends a pause.
func (p *Proxy) Resume() { p.pauseGate.Unlock() }

// endAll ends all connections and waits for the proxy's goroutines.
func (p *Proxy) endAll() {
	if p.pauseGate.TryRLock() {
		p.pauseGate.RUnlock()
	} else {
		// The test has ended during a pause.
		p.Resume()
	}
	p.Shut()
	p.goroutines.Wait()
}

func (p *Proxy) acceptAll(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		p.goroutines.Go(func() { p.serveClient(listener, client) })
	}
}

// serveClient forwards between a client and Postgres until either side ends. Where Postgres does not answer, the client
// is disconnected.
func (p *Proxy) serveClient(listener net.Listener, client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial(p.network, p.target)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	if !p.addConns(listener, client, server) {
		return
	}
	defer p.removeConns(client, server)
	p.forward(p.t.Context(), client, server)
}

// addConns has Shut close both sides. It returns false when the proxy was shut since it accepted the client.
func (p *Proxy) addConns(listener net.Listener, client, server net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != listener {
		return false
	}
	p.conns[client], p.conns[server] = struct{}{}, struct{}{}
	return true
}

func (p *Proxy) removeConns(client, server net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, client)
	delete(p.conns, server)
}

// forwardAll passes all bytes unchanged, but during a pause.
func (p *Proxy) forwardAll(_ context.Context, client, server net.Conn) {
	var answers sync.WaitGroup
	answers.Go(func() { p.copyData(client, server) })
	p.copyData(server, client)
	answers.Wait()
}

// copyData copies bytes from one side to the other, and closes both when either one ends.
func (p *Proxy) copyData(to, from net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		p.pauseGate.RLock()
		if n > 0 && err == nil {
			_, err = to.Write(buf[:n])
		}
		p.pauseGate.RUnlock()
		if err != nil {
			_, _ = to.Close(), from.Close()
			return
		}
	}
}
