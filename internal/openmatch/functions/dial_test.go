package functions

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/openmatch/functions/functionstest"
)

func TestAddressOf(t *testing.T) {
	t.Parallel()
	for in, out := range map[*pb.FunctionConfig]string{
		functionstest.Config("mmf.example", 1):        "mmf.example:1",
		functionstest.Config("MMF.example.", 65535):   "mmf.example.:65535",
		functionstest.Config("open-match_mmf", 50502): "open-match_mmf:50502",
		functionstest.Config("10.0.0.1", 50502):       "10.0.0.1:50502",
		functionstest.Config("::1", 50502):            "[::1]:50502",
		functionstest.Config("[::1]", 50502):          "[::1]:50502",
	} {
		at, err := addressOf(in)
		require.NoError(t, err, in)
		require.Equal(t, out, at.String())
	}
	for _, in := range []*pb.FunctionConfig{
		nil, {}, functionstest.Config("", 50502), functionstest.Config(".", 50502), functionstest.Config("mmf", 0), functionstest.Config("mmf", -1), functionstest.Config("mmf", 65536), functionstest.Config("mmf:1", 2), functionstest.Config("a/b", 1),
		functionstest.Config("me@mmf", 1), functionstest.Config("mmf ", 1), functionstest.Config("fe80::1%eth0", 1), functionstest.Config("a..b", 1), functionstest.Config("dns:///mmf", 1), functionstest.Config("unix:/run/x", 1),
	} {
		_, err := addressOf(in)
		require.Error(t, err, in)
	}
}

// The resolved address is checked right before connecting: checking the name first and resolving it again would let its
// owner change the address in between (DNS rebinding).
func TestConnectChecksTheResolvedAddress(t *testing.T) {
	t.Parallel()
	l := functionstest.Listen(t, "127.0.0.1:0")
	defer l.Close()
	at := address{host: "localhost", port: int(functionstest.ConfigOf(l.Addr()).GetPort())}
	var judged []netip.Addr
	allowed := dialer{allows: func(host string, ip netip.Addr) bool {
		require.Equal(t, "localhost", host)
		judged = append(judged, ip)
		return true
	}}
	conn, err := allowed.connect(t.Context(), at.host, at.String())
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	require.Contains(t, judged, netip.MustParseAddr("127.0.0.1"))

	refuses := dialer{allows: func(string, netip.Addr) bool { return false }}
	_, err = refuses.connect(t.Context(), at.host, at.String())
	require.ErrorIs(t, err, errRefused)
}
