package functions

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/base/outbound"
)

// unreachableError is the error of a match function that did not answer. The caller chose the address, so the text is
// the same for all causes: it must not reveal whether the address is allowed, what the name resolves to, or whether a
// port is open. The log has the cause.
type unreachableError struct{ cause error }

var errUnreachable = status.Error(codes.Unavailable,
	"the match function cannot be called: the director may not call the address, or nothing answers there as one "+
		"does; the director's log has the cause")

// Error implements error.
func (*unreachableError) Error() string { return errUnreachable.Error() }

// GRPCStatus is for [status.FromError].
func (*unreachableError) GRPCStatus() *status.Status { return status.Convert(errUnreachable) }

// errNotAllowed is the cause when the allow-list refuses the address. Dialers return outbound.ErrRefused instead, which
// is no status: gRPC would return a status with the address in its text.
var errNotAllowed = status.Error(codes.PermissionDenied, "the director may not call this address")

// address is where a match function or an evaluator listens.
type address struct {
	host string // a name, or an address without brackets
	port int
}

// addressOf returns the address of the match function that a caller names.
func addressOf(config *pb.FunctionConfig) (address, error) {
	at := address{host: strings.TrimSuffix(strings.TrimPrefix(config.GetHost(), "["), "]"), port: int(config.GetPort())}
	if at.port < 1 || at.port > 65535 {
		return at, status.Error(codes.InvalidArgument, ".config.port must be from 1 to 65535")
	}
	if ip, err := netip.ParseAddr(at.host); err != nil && !outbound.IsHostName(at.host) || ip.Zone() != "" {
		return at, status.Error(codes.InvalidArgument, ".config.host must be a host's name or address")
	}
	return at, nil
}

// String is the address as a URL has it.
func (a address) String() string {
	return net.JoinHostPort(strings.ToLower(a.host), strconv.Itoa(a.port))
}

// urlOf returns the URL of a path.
func (a address) urlOf(scheme, path string) *url.URL {
	return &url.URL{Scheme: scheme, Host: a.String(), Path: path}
}

// dialer connects to user code.
type dialer struct {
	outbound  outbound.Dialer
	tlsConfig *tls.Config // nil: in plain text
	tracing   tracing
}

func (d dialer) callCredentials() credentials.TransportCredentials {
	if d.tlsConfig == nil {
		return insecure.NewCredentials()
	}
	return credentials.NewTLS(d.tlsConfig)
}

// httpScheme is that of URLs over HTTP.
func (d dialer) httpScheme() string {
	if d.tlsConfig == nil {
		return "http"
	}
	return "https"
}

// newTransport makes a transport that connects with the dialer.
func (d dialer) newTransport() *http.Transport {
	return d.outbound.Transport(d.tlsConfig, maxConnections)
}

// httpError returns an error of the HTTP client for the caller.
func httpError(err error) error {
	if errors.Is(err, outbound.ErrRefused) {
		return errNotAllowed
	}
	return status.Error(codes.Internal, err.Error())
}

// maxConnections bounds the cached connections: more than a game has match functions, and few enough that callers that
// name ever new addresses take little memory.
const maxConnections = 256
