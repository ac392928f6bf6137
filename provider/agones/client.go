package agones

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/internal/httpcall"
)

// client reaches one of the two APIs.
type client struct {
	baseURL   string
	http      *http.Client
	tokenFile string // empty: calls have no token
}

// exchange makes a call; sent is whether the API may have executed it. The error holds neither the token nor the body.
func (c client) exchange(ctx context.Context, timeout time.Duration, method, path string, query url.Values,
	body any) (a httpcall.Answer, sent bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	header, err := c.readAuthorization()
	if err != nil {
		return httpcall.Answer{}, false, err
	}
	target := c.baseURL + path
	if query != nil {
		target += "?" + query.Encode()
	}
	a, sent, err = httpcall.Exchange(ctx, c.http,
		httpcall.Request{Method: method, URL: target, Header: header, Body: body})
	if err != nil {
		err = errors.New(httpcall.Scrub(err.Error(), nil))
	}
	return a, sent, err
}

// answerError returns the status and the message of an answer as an error.
func answerError(kind provider.Kind, op string, a httpcall.Answer, secrets []string) error {
	var v struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(a.Body, &v) // other bodies have no message
	return provider.Fail(kind, op, fmt.Errorf("status %d: %s", a.Status, httpcall.Scrub(v.Message, secrets)))
}

// newClient returns a client that trusts one authority, and shows a certificate if there is one.
func newClient(address, ca, cert, key string) (client, error) {
	u, err := url.Parse(address)
	// In plain text anybody on the way could read the token of Kubernetes, and take servers.
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return client{}, errors.New("the URL is not https://host")
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		return client{}, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return client{}, fmt.Errorf("%s has no certificate", ca)
	}
	config := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	if cert != "" || key != "" {
		load := func() (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(cert, key)
			return &pair, err
		}
		// Once at the start, for an error that operators see; each connection loads it again.
		if _, err := load(); err != nil {
			return client{}, err
		}
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return load() }
	}
	transport := httpcall.Transport()
	transport.TLSClientConfig = config
	return client{baseURL: strings.TrimRight(u.String(), "/"), http: httpcall.Client(transport)}, nil
}

// maxToken bounds a token's file.
const maxToken = 64 << 10

// readAuthorization returns the header with the token. The file is read each time, because Kubernetes renews it.
func (c client) readAuthorization() (http.Header, error) {
	if c.tokenFile == "" {
		return nil, nil //nolint:nilnil // httpcall.Request: nil is none
	}
	text, err := os.ReadFile(c.tokenFile)
	if err != nil {
		return nil, err
	}
	token := strings.TrimSpace(string(text))
	// The token becomes a header: a line break in it would begin another one.
	if token == "" || len(token) > maxToken ||
		strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, fmt.Errorf("%s holds no token", c.tokenFile)
	}
	return http.Header{"Authorization": {"Bearer " + token}}, nil
}
