package openmatch

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/lattice-director/director/internal/openmatch/functions"
	"github.com/lattice-director/director/server/rest"
)

// Exposed returns the first address at which clients of other machines need no credentials though OpenToAll is not set;
// "" where there is none.
func (o Options) Exposed() string {
	if o.OpenToAll || len(o.Tokens) > 0 || o.ClientCA != "" {
		return ""
	}
	return o.offLoopback()
}

// OnLoopback reports whether only this machine can reach the director; match functions on loopback then need no entry
// in the list.
func (o Options) OnLoopback() bool { return o.offLoopback() == "" }

// offLoopback returns the first address that other machines reach; "" where there is none.
func (o Options) offLoopback() string {
	addrs := slices.Clone(o.Addrs)
	for _, l := range o.Listeners {
		addrs = append(addrs, l.Addr().String())
	}
	if o.HTTPAddr != "" {
		addrs = append(addrs, o.HTTPAddr)
	}
	for _, addr := range addrs {
		// Without a host, as in ":50504", an address is one of all interfaces, and no name but localhost is looked up.
		if host, _, err := net.SplitHostPort(addr); err != nil ||
			host != "localhost" && !net.ParseIP(host).IsLoopback() {
			return addr
		}
	}
	return ""
}

// ClientTLS returns a config that requests certificates of ClientCA but does not require them: a caller may have a
// token, or use another API on the same port.
func (o Options) ClientTLS(config *tls.Config) (*tls.Config, error) {
	if o.ClientCA == "" || config == nil {
		return config, nil
	}
	signers, err := functions.CertificatesIn(o.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("the authority of callers' certificates: %w", err)
	}
	config = config.Clone()
	config.ClientCAs, config.ClientAuth = signers, tls.VerifyClientCertIfGiven
	return config, nil
}

// makeAccess reads the credentials of the options. Errors: callers of other machines would need none though OpenToAll
// is not set; a token is too short.
func (s *Server) makeAccess() error {
	o := s.options
	if addr := o.Exposed(); addr != "" {
		return fmt.Errorf("clients that reach %s need no credentials: "+
			"set tokens or the authority of callers' certificates, "+
			"listen on loopback, or say that the server is open", addr)
	}
	a := &access{isOpenToAll: len(o.Tokens) == 0 && o.ClientCA == "", acceptsCertificates: o.ClientCA != "",
		failureLimiter: rest.NewLimiter(o.FailureRate)}
	for i, text := range o.Tokens {
		service, secret := splitScope(text)
		if len(secret) < shortestSecret {
			return fmt.Errorf("token %d is shorter than %d bytes", i+1, shortestSecret)
		}
		a.tokenCredentials = append(a.tokenCredentials,
			credential{serviceName: service, secretHash: sha256.Sum256([]byte(secret))})
	}
	for _, text := range o.ClientNames {
		service, name := splitScope(text)
		a.certificateNames = append(a.certificateNames, credential{serviceName: service, certificateName: name})
	}
	s.access = a
	return nil
}

// admitCall authenticates a call over gRPC. The gateway has authenticated its callers; the health service is open.
func (s *Server) admitCall(ctx context.Context, method string) error {
	// Load balancers have no credentials, and learn nothing but whether this replica serves.
	if strings.HasPrefix(method, "/grpc.health.v1.Health/") {
		return nil
	}
	var c caller
	if p, ok := peer.FromContext(ctx); ok {
		known, _ := p.AuthInfo.(knownConn)
		switch info := known.auth.(type) {
		case gatewayAuth:
			return nil
		case credentials.TLSInfo:
			c.tlsState = &info.State
		}
		c.peerAddr = addrOf(p.Addr)
	}
	// Of several values the first counts, as HTTP servers read the header: what a caller adds after it has no effect.
	if all := metadata.ValueFromIncomingContext(ctx, "authorization"); len(all) > 0 {
		c.authorization = all[0]
	}
	return s.access.authenticateCaller(serviceOf(method), c)
}

func addrOf(a net.Addr) netip.Addr {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr()
	}
	return netip.Addr{}
}

// serviceOf returns the service that a method needs; "" for methods such as reflection that belong to none.
func serviceOf(method string) string {
	service, name, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	switch service {
	case "director.openmatch.v1.Tickets":
		if name == "CountPool" { // as in its REST path
			return "query"
		}
		return "frontend"
	case "openmatch.FrontendService":
		return "frontend"
	case "openmatch.BackendService":
		return "backend"
	case "openmatch.QueryService":
		return "query"
	}
	return ""
}

// gatewayAuth marks connections of the gateway, which has authenticated their callers.
type gatewayAuth struct{ credentials.CommonAuthInfo }

// AuthType implements credentials.AuthInfo.
func (gatewayAuth) AuthType() string { return "gateway" }

// handshaker skips the TLS handshake for connections of the gateway, which only this process can open.
type handshaker struct {
	credentials.TransportCredentials
	queues *sendQueues
}

// ServerHandshake implements credentials.TransportCredentials.
func (e handshaker) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	queueing := e.queues.wrapConn(conn)
	if queueing.isGateway {
		// The connection is in memory, so nobody else reads or changes what passes through it.
		private := credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}
		return queueing, knownConn{gatewayAuth{private}, queueing}, nil
	}
	secured, info, err := e.TransportCredentials.ServerHandshake(queueing)
	if err != nil {
		_ = queueing.Close()
	}
	return secured, knownConn{info, queueing}, err
}

// Clone implements credentials.TransportCredentials.
func (e handshaker) Clone() credentials.TransportCredentials {
	return handshaker{e.TransportCredentials.Clone(), e.queues}
}
