package openmatch

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Match functions on loopback need no entry where nobody else reaches the director.
func TestOffLoopback(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options Options
		off     string
	}{
		"nobody else reaches the director": {Options{Addrs: []string{"127.0.0.1:0", "[::1]:0"}, HTTPAddr: "localhost:8080"}, ""},
		"others reach gRPC":                {Options{Addrs: []string{"127.0.0.1:0", ":50504"}, Tokens: []string{"0123456789abcdef"}}, ":50504"},
		"others reach REST":                {Options{Addrs: []string{"127.0.0.1:0"}, HTTPAddr: "0.0.0.0:8080", OpenToAll: true}, "0.0.0.0:8080"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.off, c.options.offLoopback())
		})
	}
}
