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

// Authority signs certificates that are valid for an hour.
type Authority struct {
	Pool *x509.CertPool // has its certificate
	File string         // so has this file

	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// New makes an authority.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{Pool: x509.NewCertPool(), t: t, key: must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)}
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	der := must.Get(x509.CreateCertificate(rand.Reader, cert, cert, a.key.Public(), a.key))(t)
	a.cert = must.Get(x509.ParseCertificate(der))(t)
	a.Pool.AddCert(a.cert)
	a.File = a.write("ca.pem", "CERTIFICATE", der)
	return a
}

// Issue makes a certificate for a name and this machine, with its key.
func (a *Authority) Issue(name string) tls.Certificate {
	a.t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(a.t)
	der := must.Get(x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2),
		// Programs in Rust refuse a certificate that says nothing of its beginning.
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{name},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}, a.cert, key.Public(), a.key))(a.t)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// IssueFiles is Issue in two files.
func (a *Authority) IssueFiles(name string) (cert, key string) {
	a.t.Helper()
	issued := a.Issue(name)
	secret := must.Get(x509.MarshalPKCS8PrivateKey(issued.PrivateKey))(a.t)
	return a.write(name+".pem", "CERTIFICATE", issued.Certificate[0]), a.write(name+".key", "PRIVATE KEY", secret)
}

func (a *Authority) write(name, kind string, der []byte) (path string) {
	a.t.Helper()
	path = filepath.Join(a.t.TempDir(), name)
	require.NoError(a.t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	return path
}
