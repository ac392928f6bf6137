// Package certtest makes certificates for tests.
package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
)

// Authority signs certificates that are valid for an hour. It is not safe for concurrent use.
type Authority struct {
	Pool *x509.CertPool // of the authority's own certificate, which is also in the file ca.pem

	t    testing.TB
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// New makes an authority.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{Pool: x509.NewCertPool(), t: t, dir: t.TempDir(),
		key: must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)}
	template := templateOf("authority")
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	der := must.Get(x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key))(t)
	a.cert = must.Get(x509.ParseCertificate(der))(t)
	a.Pool.AddCert(a.cert)
	a.write("ca.pem", "CERTIFICATE", der)
	return a
}

// templateOf returns what all certificates have. They are valid from an hour ago on, because programs in Rust refuse a
// certificate without a beginning.
func templateOf(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
}

// Issue makes a certificate for a name and this machine, which servers and clients may show. It writes the files
// NAME.pem and NAME.key, over those of an earlier certificate of that name.
func (a *Authority) Issue(name string) tls.Certificate {
	a.t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(a.t)
	template := templateOf(name)
	template.DNSNames, template.IPAddresses = []string{name}, []net.IP{net.IPv4(127, 0, 0, 1)}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	der := must.Get(x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key))(a.t)
	a.write(name+".pem", "CERTIFICATE", der)
	a.write(name+".key", "EC PRIVATE KEY", must.Get(x509.MarshalECPrivateKey(key))(a.t))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// File returns the path of a file that New or Issue has written, such as ca.pem.
func (a *Authority) File(name string) string { return filepath.Join(a.dir, name) }

func (a *Authority) write(name, kind string, der []byte) {
	a.t.Helper()
	require.NoError(a.t, os.WriteFile(a.File(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

// Server returns the configuration of a server with a new certificate for a name. If it authenticates clients, it
// serves only those that show a certificate of this authority.
func (a *Authority) Server(name string, authenticatesClients bool) *tls.Config {
	config := &tls.Config{Certificates: []tls.Certificate{a.Issue(name)}, MinVersion: tls.VersionTLS12}
	if authenticatesClients {
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, a.Pool
	}
	return config
}
