package openmatch

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"net/netip"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lattice-director/director/server/rest"
)

// services are the names in settings of the services that a credential may open.
var services = []string{"frontend", "backend", "query"}

// shortestSecret is the least length of a token, in bytes: a shorter one can be guessed.
const shortestSecret = 16

// credential is a token or a certificate's name, and the service that it opens; "" opens all.
type credential struct {
	serviceName     string
	secretHash      [sha256.Size]byte // of a secret, so that comparing takes the same time whatever its length
	certificateName string
}

// access authenticates callers.
type access struct {
	isOpenToAll         bool
	tokenCredentials    []credential
	acceptsCertificates bool
	certificateNames    []credential // of certificates; none means any
	failureLimiter      *rest.Limiter
}

// splitScope splits "service=value", where the value is a secret or a name. A text that does not begin with a known
// service is all value: a secret may contain "=".
func splitScope(text string) (service, value string) {
	if service, value, found := strings.Cut(text, "="); found && slices.Contains(services, service) {
		return service, value
	}
	return "", text
}

// caller holds the credentials of a call that are not verified yet.
type caller struct {
	authorization string
	tlsState      *tls.ConnectionState // nil: plain text
	peerAddr      netip.Addr           // that failed attempts are counted for
}

var (
	errNoCredentials = status.Error(codes.Unauthenticated,
		"the token is missing or wrong: send it as metadata or header: authorization: Bearer <token>")
	errTooMany = status.Error(codes.ResourceExhausted, "too many failed attempts from this address")
)

// authenticateCaller returns nil if a caller may use a service. Any valid credential opens the service "".
func (a *access) authenticateCaller(service string, c caller) error {
	if a.isOpenToAll {
		return nil
	}
	opens, known := a.byToken(service, c.authorization)
	// A caller may send both, such as a proxy that has a certificate and forwards the tokens of its callers.
	if !opens {
		byName, knownName := a.byCertificate(service, c.tlsState)
		opens, known = byName, known || knownName
	}
	if opens {
		return nil
	}
	// Only callers that are refused are counted: valid credentials work from any address.
	if a.failureLimiter.Take(rest.AddressKey(c.peerAddr.Unmap())) > 0 {
		return errTooMany
	}
	if known {
		return status.Error(codes.PermissionDenied, "these credentials do not open the "+service+" service")
	}
	return errNoCredentials
}

// byToken returns whether the token of an Authorization header opens a service, and whether it is a token of this
// server at all. It takes the same time for each token.
func (a *access) byToken(service, authorization string) (opens, known bool) {
	scheme, token, _ := strings.Cut(authorization, " ")
	token = strings.Trim(token, " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return false, false
	}
	hash := sha256.Sum256([]byte(token))
	for i := range a.tokenCredentials {
		// All tokens are compared, also after a match: the time tells nothing of them.
		same := subtle.ConstantTimeCompare(a.tokenCredentials[i].secretHash[:], hash[:]) == 1
		known = known || same
		opens = opens || same && a.tokenCredentials[i].opensService(service)
	}
	return opens, known
}

func (k credential) opensService(service string) bool {
	return k.serviceName == "" || service == "" || k.serviceName == service
}

// byCertificate returns whether the certificate of a connection, which TLS has verified, opens a service, and whether
// there is such a certificate. Without configured names, any certificate opens every service.
func (a *access) byCertificate(service string, state *tls.ConnectionState) (opens, known bool) {
	if !a.acceptsCertificates || state == nil || len(state.VerifiedChains) == 0 {
		return false, false
	}
	if len(a.certificateNames) == 0 {
		return true, true
	}
	has := namesOf(state.PeerCertificates[0])
	return slices.ContainsFunc(a.certificateNames, func(k credential) bool {
		return slices.Contains(has, k.certificateName) && k.opensService(service)
	}), true
}

func namesOf(c *x509.Certificate) []string {
	names := slices.Clone(c.DNSNames)
	for _, u := range c.URIs {
		names = append(names, u.String())
	}
	if c.Subject.CommonName != "" {
		names = append(names, c.Subject.CommonName)
	}
	return names
}
