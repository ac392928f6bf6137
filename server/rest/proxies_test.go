package rest_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/server/rest"
)

func TestClientAddress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		trusted  []string
		peer     string
		forward  []string
		client   string
		limitKey string
	}{
		{nil, "192.0.2.1:1", []string{"198.51.100.1"}, "192.0.2.1", "192.0.2.1"},
		{[]string{"192.0.2.1"}, "192.0.2.1:1", []string{"203.0.113.9, 198.51.100.1"}, "198.51.100.1", "198.51.100.1"},
		{[]string{"192.0.2.0/24", "198.51.100.0/24"}, "192.0.2.1:1", []string{"203.0.113.9", "198.51.100.1"},
			"203.0.113.9", "203.0.113.9"},
		{[]string{"0.0.0.0/0", "::/0"}, "192.0.2.1:1", []string{"2001:db8::1, 198.51.100.1"}, "2001:db8::1",
			"2001:db8::/64"},
		{[]string{"0.0.0.0/0"}, "192.0.2.1:1", []string{"nonsense"}, "192.0.2.1", "192.0.2.1"},
		{nil, "[::ffff:192.0.2.1]:1", nil, "192.0.2.1", "192.0.2.1"},
		{[]string{"192.0.2.1"}, "192.0.2.1:1", []string{"203.0.113.7:50001"}, "203.0.113.7", "203.0.113.7"},
		{[]string{"192.0.2.1"}, "192.0.2.1:1", []string{"10.0.0.1, 203.0.113.7:50001 , 192.0.2.1:80"}, "203.0.113.7",
			"203.0.113.7"},
		{[]string{"192.0.2.1"}, "192.0.2.1:1", []string{"[2001:db8::1]:443"}, "2001:db8::1", "2001:db8::/64"},
		{[]string{"192.0.2.1"}, "192.0.2.1:1", []string{"[2001:db8::1]"}, "2001:db8::1", "2001:db8::/64"},
		{[]string{"192.0.2.1"}, "192.0.2.1:1", []string{`"[2001:db8::1]:443"`}, "2001:db8::1", "2001:db8::/64"},
		{[]string{"192.0.2.1"}, "192.0.2.1:1", []string{`"203.0.113.7"`}, "203.0.113.7", "203.0.113.7"},
		{[]string{"192.0.2.1"}, "192.0.2.1:1", []string{"[::ffff:203.0.113.7]:1"}, "203.0.113.7", "203.0.113.7"},
		// Pins proxies in the notation of IPv6, which no proxy's address matched.
		{[]string{"::ffff:192.0.2.1"}, "192.0.2.1:1", []string{"203.0.113.7"}, "203.0.113.7", "203.0.113.7"},
		{[]string{"::ffff:192.0.2.0/120"}, "192.0.2.1:1", []string{"203.0.113.7"}, "203.0.113.7", "203.0.113.7"},
		{[]string{"192.0.2.1"}, "192.0.2.1:1", []string{"unknown"}, "192.0.2.1", "192.0.2.1"},
		{[]string{"192.0.2.1"}, "192.0.2.1:1", []string{"203.0.113.7:x"}, "192.0.2.1", "192.0.2.1"},
		{[]string{"192.0.2.1"}, "192.0.2.1:1", []string{""}, "192.0.2.1", "192.0.2.1"},
		{[]string{"192.0.2.1"}, "192.0.2.1:1", []string{"", "203.0.113.7"}, "203.0.113.7", "203.0.113.7"},
		{[]string{"192.0.2.1"}, "192.0.2.1:1", []string{"203.0.113.7,"}, "192.0.2.1", "192.0.2.1"},
		// Pins proxies at link-local addresses, which no proxy's address matched because of the zone.
		{[]string{"fe80::1"}, "[fe80::1%eth0]:1", []string{"203.0.113.7"}, "203.0.113.7", "203.0.113.7"},
		{[]string{"fe80::1", "fe80::2"}, "[fe80::1%eth0]:1", []string{"203.0.113.7, fe80::2%eth1"}, "203.0.113.7",
			"203.0.113.7"},
		{nil, "[fe80::1%eth0]:1", nil, "fe80::1", "fe80::/64"},
	} {
		trusted, err := rest.ParseProxies(c.trusted)
		require.NoError(t, err)
		got := trusted.Client(&http.Request{RemoteAddr: c.peer, Header: http.Header{"X-Forwarded-For": c.forward}})
		require.Equal(t, c.client, got.String())
		require.Equal(t, c.limitKey, rest.AddressKey(got))
	}
	_, err := rest.ParseProxies([]string{"proxy.example"})
	require.Error(t, err)
}

// Pins players who share the address of their proxy, and so its limits, because the proxy writes the port as well. A
// proxy that writes no address is counted, and logged once.
func TestClientsBehindAProxyThatWritesPorts(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	reg := prometheus.NewRegistry()
	metrics, err := rest.NewMetrics(reg)
	require.NoError(t, err)
	e, err := rest.New(rest.Options{TrustedProxies: []string{"192.0.2.1"}, Metrics: metrics,
		Log: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	e.GET("/", func(c *gin.Context) { c.String(http.StatusOK, c.ClientIP()+" "+rest.FailureKey(c)) })
	for _, forwarded := range [][2]string{
		{"203.0.113.7:50001", "203.0.113.7 203.0.113.7"}, {"10.9.9.9, [2001:db8::7]:443", "2001:db8::7 2001:db8::/64"},
		{"unknown", "192.0.2.1 192.0.2.1"}, {"_hidden", "192.0.2.1 192.0.2.1"}, {"", "192.0.2.1 192.0.2.1"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = "192.0.2.1:1"
		r.Header.Set("X-Forwarded-For", forwarded[0])
		w := httptest.NewRecorder()
		e.ServeHTTP(w, r)
		require.Equal(t, forwarded[1], w.Body.String(), forwarded[0])
	}
	require.Equal(t, 1, strings.Count(log.String(), "has no address"))
	require.Contains(t, log.String(), "value=unknown")
	counted, err := testutil.GatherAndCount(reg, "director_http_unreadable_clients_total")
	require.NoError(t, err)
	require.Equal(t, 1, counted)
}

const unreadableClients = `# HELP director_http_unreadable_clients_total HTTP requests in whose X-Forwarded-For a trusted proxy wrote something else than an address. Their callers count as one.
# TYPE director_http_unreadable_clients_total counter
director_http_unreadable_clients_total %v
`

// Pins callers who share the limits of their proxy, uncounted, because the proxy wrote an empty address; and an address
// that the middleware and Proxies.Client do not agree on.
func TestEveryListenerTakesTheSameAddress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		peer    string
		forward []string
		client  string
		counted float64
	}{
		{"192.0.2.1:1", []string{"203.0.113.7,"}, "192.0.2.1", 1},
		{"192.0.2.1:1", []string{""}, "192.0.2.1", 1},
		{"192.0.2.1:1", []string{"", "203.0.113.7"}, "203.0.113.7", 0},
		{"192.0.2.1:1", nil, "192.0.2.1", 0},
		{"[fe80::1%eth0]:1", []string{"203.0.113.7"}, "203.0.113.7", 0},
		{"[fe80::1%eth0]:1", nil, "fe80::1", 0},
		{"[fe80::9%eth0]:1", []string{"203.0.113.7"}, "fe80::9", 0},
		{"198.51.100.1:1", []string{"203.0.113.7,"}, "198.51.100.1", 0},
	} {
		trusted := []string{"::ffff:192.0.2.1", "fe80::1%eth0"} // notations that gin does not read
		reg := prometheus.NewRegistry()
		metrics, err := rest.NewMetrics(reg)
		require.NoError(t, err)
		e, err := rest.New(rest.Options{TrustedProxies: trusted, Metrics: metrics})
		require.NoError(t, err)
		e.GET("/", func(c *gin.Context) { c.String(http.StatusOK, c.ClientIP()) })
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr, r.Header["X-Forwarded-For"] = c.peer, c.forward
		proxies, err := rest.ParseProxies(trusted)
		require.NoError(t, err)
		require.Equal(t, c.client, proxies.Client(r).String(), "%+v", c)
		w := httptest.NewRecorder()
		e.ServeHTTP(w, r)
		require.Equal(t, c.client, w.Body.String(), "%+v", c)
		require.NoError(t, testutil.GatherAndCompare(reg, strings.NewReader(fmt.Sprintf(unreadableClients, c.counted)),
			"director_http_unreadable_clients_total"), "%+v", c)
	}
}
