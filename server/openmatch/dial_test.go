package openmatch

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/api/openmatch/pb"
)

func TestAddressOf(t *testing.T) {
	t.Parallel()
	for in, out := range map[*pb.FunctionConfig]string{
		config("mmf.example", 1):        "mmf.example:1",
		config("MMF.example.", 65535):   "mmf.example.:65535",
		config("open-match_mmf", 50502): "open-match_mmf:50502",
		config("10.0.0.1", 50502):       "10.0.0.1:50502",
		config("::1", 50502):            "[::1]:50502",
		config("[::1]", 50502):          "[::1]:50502",
	} {
		at, err := addressOf(in)
		require.NoError(t, err, in)
		require.Equal(t, out, at.String())
	}
	for _, in := range []*pb.FunctionConfig{
		nil, {}, config("", 50502), config(".", 50502), config("mmf", 0), config("mmf", -1), config("mmf", 65536), config("mmf:1", 2), config("a/b", 1),
		config("me@mmf", 1), config("mmf ", 1), config("fe80::1%eth0", 1), config("a..b", 1), config("dns:///mmf", 1), config("unix:/run/x", 1),
	} {
		_, err := addressOf(in)
		require.Error(t, err, in)
	}
}

// The resolved address is checked right before connecting: checking the name first and resolving it again would let its owner
// change the address in between (DNS rebinding).
func TestConnectChecksTheResolvedAddress(t *testing.T) {
	t.Parallel()
	l := listen(t, "127.0.0.1:0")
	defer l.Close()
	at := address{host: "localhost", port: int(configOf(l.Addr()).GetPort())}
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
