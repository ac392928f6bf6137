package endpoint_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/base/endpoint"
)

// Pins game servers that register what they bind, which nobody can dial.
func TestEndpointsThatPlayersDial(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		"203.0.113.7:7777", "127.0.0.1:1", "[2001:db8::7]:65535", "game.example:7777", "10.0.0.1:80", "a:1", "wss://game.example/play", "wss://game.example:443/play?x=1",
		"https://[2001:db8::1]:9/a", "udp://203.0.113.7:7", "7a.example:1",
	} {
		require.True(t, endpoint.IsDialable(good), good)
	}
	for _, bad := range []string{
		"0.0.0.0:7777", "[::]:7777", "[::0]:7777", "[::ffff:0.0.0.0]:7777", "0:7777", "127.1:7777", "256.0.0.1:1", "224.0.0.1:7777", "[ff02::1]:7777", "255.255.255.255:7777",
		"203.0.113.7:0", "203.0.113.7:65536", "203.0.113.7:99999", "ws://0.0.0.0:7777/play", "ws://[::]/play", "wss://game.example:0/play", "ws://:7777/", "", "game.example",
	} {
		require.False(t, endpoint.IsDialable(bad), bad)
	}
	for text, dialable := range map[string]bool{
		"203.0.113.7:7777": true, "[2001:db8::7]:1": true, "game.example:7777": false, "wss://203.0.113.7:1": false, "0.0.0.0:1": false, "203.0.113.7:0": false, "": false,
	} {
		require.Equal(t, dialable, endpoint.IsDialableAddress(text), text)
	}
}

func TestHasHost(t *testing.T) {
	t.Parallel()
	for text, has := range map[string]bool{
		"http://a": true, "http://a:": true, "http://[::1]:65535": true, "http://a:0": false, "http://a:65536": false,
		"http://:80": false, "http:///x": false, "a:80": false,
	} {
		u, err := url.Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, has, endpoint.HasHost(u), text)
	}
}
