package providertest

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Serve serves a fake of a provider's API until the test ends, which does not wait for calls that the fake blocks, and
// returns its URL. Without a configuration of TLS it is plain HTTP.
func Serve(t *testing.T, fake http.Handler, secure *tls.Config) (url string) {
	t.Helper()
	s := httptest.NewUnstartedServer(fake)
	if s.TLS = secure; secure != nil {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}
