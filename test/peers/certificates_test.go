package peers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// certificates are an authority, and what it has issued for this machine. Rust's TLS takes no certificate that is both.
type certificates struct {
	authority string // as PEM
	cert, key string // files
}

func newCertificates(t *testing.T) certificates {
	t.Helper()
	from, to := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	root := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: to, IsCA: true, BasicConstraintsValid: true}
	rootKey, rootDER := issue(t, root, root, nil)
	own := &x509.Certificate{SerialNumber: big.NewInt(2), NotBefore: from, NotAfter: to, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	ownKey, ownDER := issue(t, own, root, rootKey)
	secret, err := x509.MarshalPKCS8PrivateKey(ownKey)
	require.NoError(t, err)
	c := certificates{authority: pemOf("CERTIFICATE", rootDER), cert: filepath.Join(t.TempDir(), "cert.pem"), key: filepath.Join(t.TempDir(), "key.pem")}
	require.NoError(t, os.WriteFile(c.cert, []byte(pemOf("CERTIFICATE", ownDER)), 0o600))
	require.NoError(t, os.WriteFile(c.key, []byte(pemOf("PRIVATE KEY", secret)), 0o600))
	return c
}

// issue makes a certificate; signer is nil for one that signs itself.
func issue(t *testing.T, template, parent *x509.Certificate, signer *ecdsa.PrivateKey) (key *ecdsa.PrivateKey, der []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	if signer == nil {
		signer = key
	}
	der, err = x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	require.NoError(t, err)
	return key, der
}

func pemOf(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}
