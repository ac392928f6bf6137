package rest_test

import (
	"net/http"
	"testing"

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
		{[]string{"192.0.2.0/24", "198.51.100.0/24"}, "192.0.2.1:1", []string{"203.0.113.9", "198.51.100.1"}, "203.0.113.9", "203.0.113.9"},
		{[]string{"0.0.0.0/0", "::/0"}, "192.0.2.1:1", []string{"2001:db8::1, 198.51.100.1"}, "2001:db8::1", "2001:db8::/64"},
		{[]string{"0.0.0.0/0"}, "192.0.2.1:1", []string{"nonsense"}, "192.0.2.1", "192.0.2.1"},
		{nil, "[::ffff:192.0.2.1]:1", nil, "192.0.2.1", "192.0.2.1"},
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
