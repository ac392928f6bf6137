package outbound

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// ConnectTimeout bounds one TCP connect, and one TLS handshake. A reachable machine answers within a round trip.
const ConnectTimeout = 3 * time.Second

// ErrRefused is the error of an address that Allows does not permit.
var ErrRefused = errors.New("the allow-list refuses this address")

// Dialer connects to the addresses that Allows permits. nil permits all: the operator named the address. Safe for
// concurrent use.
type Dialer struct {
	Allows func(host string, ip netip.Addr) bool
}

// Dial opens a connection to an address or name of a host. It checks each address right before connecting, after all
// lookups. Errors: ErrRefused, wrapped, and those of net.
func (d Dialer) Dial(ctx context.Context, host, addr string) (net.Conn, error) {
	n := net.Dialer{Timeout: ConnectTimeout, Control: func(_, resolved string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(resolved)
		if err != nil || d.Allows != nil && !d.Allows(host, to.Addr()) {
			return ErrRefused
		}
		return nil
	}}
	return n.DialContext(ctx, "tcp", addr)
}

// Transport makes a transport that connects with the dialer, and uses no proxy. config may be nil. maxIdle bounds the
// connections that it keeps.
func (d Dialer) Transport(config *tls.Config, maxIdle int) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			host, _, err := net.SplitHostPort(addr)
			if err != nil {
				return nil, err
			}
			return d.Dial(ctx, host, addr)
		},
		TLSClientConfig:        config,
		TLSHandshakeTimeout:    ConnectTimeout,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    16,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true, // so that limits count the bytes received
	}
}
