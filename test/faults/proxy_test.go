package faults

import (
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// proxy forwards connections to Postgres while its gate is open.
type proxy struct {
	url  string
	gate sync.RWMutex // locked: nothing is forwarded
}

func newProxy(t *testing.T, databaseURL string) *proxy {
	t.Helper()
	pc, err := pgx.ParseConfig(databaseURL)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	w := &proxy{}
	network, address := pgconn.NetworkAddress(pc.Host, pc.Port)
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial(network, address)
			if err != nil {
				_ = client.Close()
				continue
			}
			go w.forward(server, client)
			go w.forward(client, server)
		}
	}()
	u, err := url.Parse(databaseURL)
	require.NoError(t, err)
	host, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	q := u.Query()
	q.Set("host", host)
	q.Set("port", port)
	q.Set("sslmode", "disable")
	u.RawQuery = q.Encode()
	w.url = u.String()
	return w
}

// forward copies bytes from one side to the other. A closed gate also holds back the end of a connection.
func (w *proxy) forward(to, from net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		w.gate.RLock()
		if n > 0 && err == nil {
			_, err = to.Write(buf[:n])
		}
		w.gate.RUnlock()
		if err != nil {
			_, _ = to.Close(), from.Close()
			return
		}
	}
}
