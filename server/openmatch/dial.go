package openmatch

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/lattice-director/director/api/openmatch/pb"
)

// connectTimeout is for one TCP connection. A machine that is there answers within a round trip.
const connectTimeout = 3 * time.Second

// unreachableError is a match function that did not answer. Its caller chose the address, so it is told the same whatever the cause:
// neither whether the address is allowed, nor what the name stands for, nor whether anybody listens there. The log has the cause.
type unreachableError struct{ cause error }

var errUnreachable = status.Error(codes.Unavailable,
	"the match function cannot be called: the director may not call the address, or nothing answers there as one does; the director's log has the cause")

// Error implements error.
func (*unreachableError) Error() string { return errUnreachable.Error() }

// GRPCStatus is for [status.FromError].
func (*unreachableError) GRPCStatus() *status.Status { return status.Convert(errUnreachable) }

// errNotAllowed is the cause where the rules refuse the address.
var errNotAllowed = status.Error(codes.PermissionDenied, "the director may not call this address")

// errRefused is errNotAllowed inside a dialer. It is no status: gRPC would end calls with it, and everything around it.
var errRefused = errors.New("the rules refuse this address")

// address is where a match function or an evaluator listens.
type address struct {
	host string // a name, or an address without brackets
	port int
}

// addressOf gives where a caller says that its match function is.
func addressOf(config *pb.FunctionConfig) (address, error) {
	at := address{host: strings.TrimSuffix(strings.TrimPrefix(config.GetHost(), "["), "]"), port: int(config.GetPort())}
	if at.port < 1 || at.port > 65535 {
		return at, status.Error(codes.InvalidArgument, ".config.port must be from 1 to 65535")
	}
	if ip, err := netip.ParseAddr(at.host); err != nil && !isHostName(at.host) || ip.Zone() != "" {
		return at, status.Error(codes.InvalidArgument, ".config.host must be a host's name or address")
	}
	return at, nil
}

// String is the address as a URL has it.
func (a address) String() string {
	return net.JoinHostPort(strings.ToLower(a.host), strconv.Itoa(a.port))
}

// url is where something is over HTTP.
func (a address) url(scheme, path string) *url.URL {
	return &url.URL{Scheme: scheme, Host: a.String(), Path: path}
}

// dialer connects to where it may. Without a rule that is everywhere: an operator named the address.
type dialer struct {
	allows  func(host string, ip netip.Addr) bool
	tls     *tls.Config // nil: in plain text
	tracing tracing
}

func (d dialer) credentials() credentials.TransportCredentials {
	if d.tls == nil {
		return insecure.NewCredentials()
	}
	return credentials.NewTLS(d.tls)
}

// scheme is that of URLs over HTTP.
func (d dialer) scheme() string {
	if d.tls == nil {
		return "http"
	}
	return "https"
}

// connect opens a connection to a resolved or unresolved address, which is meant to be one of the host's. Each address
// that is tried is judged just before, after all lookups. Errors: errRefused, wrapped, and those of net.
func (d dialer) connect(ctx context.Context, host, addr string) (net.Conn, error) {
	n := net.Dialer{Timeout: connectTimeout, Control: func(_, resolved string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(resolved)
		if err != nil || d.allows != nil && !d.allows(host, to.Addr()) {
			return errRefused
		}
		return nil
	}}
	return n.DialContext(ctx, "tcp", addr)
}

// transport makes all its connections with the dialer, and asks no proxy.
func (d dialer) transport() *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			host, _, err := net.SplitHostPort(addr)
			if err != nil {
				return nil, err
			}
			return d.connect(ctx, host, addr)
		},
		TLSClientConfig:        d.tls,
		TLSHandshakeTimeout:    connectTimeout,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConns:           maxConnections,
		MaxIdleConnsPerHost:    16,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true, // what is counted is what came
	}
}

// toldOfHTTP is what a caller hears of an error of the HTTP client.
func toldOfHTTP(err error) error {
	if errors.Is(err, errRefused) {
		return errNotAllowed
	}
	return status.Error(codes.Internal, err.Error())
}
