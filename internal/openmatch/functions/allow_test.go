package functions

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/openmatch/functions/functionstest"
)

// Pins connections to loopback for clients of an exposed listener: services on loopback trust every client.
func TestLoopbackIsForLoopback(t *testing.T) {
	t.Parallel()
	at := functionstest.ServeMMF(t, functionstest.ProposingCount(1))
	for name, c := range map[string]struct {
		options Options
		allowed bool
	}{
		"nobody else reaches the director":    {Options{Loopback: true}, true},
		"others reach it":                     {Options{}, false},
		"others reach it, loopback is listed": {Options{Functions: []string{"127.0.0.0/8"}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ids, err := runs(t.Context(), functionsOf(t, c.options), at)
			if c.allowed {
				require.NoError(t, err)
				require.Len(t, ids, 1)
				return
			}
			require.EqualError(t, err, errUnreachable.Error())
		})
	}
}

// Pins errors that reveal a network: whether an address is allowed, a name resolves, a port is open, or another service
// listens.
func TestErrorsDoNotRevealTheNetwork(t *testing.T) {
	t.Parallel()
	silent := functionstest.Listen(t, "127.0.0.1:0")
	require.NoError(t, silent.Close())
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		_, _ = io.WriteString(w, "<html>")
	}))
	t.Cleanup(page.Close)
	greets := functionstest.Listen(t, "127.0.0.1:0")
	t.Cleanup(func() { _ = greets.Close() })
	go func() {
		for conn, err := greets.Accept(); err == nil; conn, err = greets.Accept() {
			_, _ = io.WriteString(conn, "220 mail.example ESMTP\r\n")
			_ = conn.Close()
		}
	}()
	f := makeFunctions(t)
	for name, at := range map[string]*pb.FunctionConfig{
		"nobody listens":           functionstest.ConfigOf(silent.Addr()),
		"a page is served":         functionstest.ConfigOf(page.Listener.Addr()),
		"something else is served": functionstest.ConfigOf(greets.Addr()),
		"the name is unknown":      functionstest.Config("nobody.invalid", 80),
		"the address is refused":   functionstest.Config("169.254.169.254", 80),
		"the address is not there": functionstest.Config("192.0.2.1", 80),
	} {
		for _, kind := range []pb.FunctionConfig_Type{pb.FunctionConfig_GRPC, pb.FunctionConfig_REST} {
			at := functionstest.Config(at.GetHost(), at.GetPort())
			at.Type = kind
			t.Run(name+" "+kind.String(), func(t *testing.T) {
				t.Parallel()
				_, err := runs(t.Context(), f, at)
				require.EqualError(t, err, errUnreachable.Error())
				require.Equal(t, codes.Unavailable, status.Code(err))
				var unreachable *unreachableError
				require.ErrorAs(t, err, &unreachable)
				require.NotEqual(t, err.Error(), unreachable.cause.Error(), "the log has more")
			})
		}
	}
}

// Callers choose the host: it must be a name or an address, and must not inject other parts of a URL.
func FuzzAddressOf(f *testing.F) {
	for _, seed := range []string{"localhost", "[::1]", "fe80::1%eth0", "a/b", "user@host", "10.0.0.1:80", "", "x#y",
		"*.example", "a..b", "[", "mmf_1"} {
		f.Add(seed, int32(50502))
	}
	f.Fuzz(func(t *testing.T, host string, port int32) {
		at, err := addressOf(functionstest.Config(host, port))
		if err != nil {
			return
		}
		require.NotEmpty(t, at.host)
		require.False(t, strings.ContainsAny(at.host, "/@#?[]* \t\r\n\\"), at.host)
		u := at.urlOf("http", "/x")
		require.Equal(t, strings.ToLower(at.host), u.Hostname())
	})
}
