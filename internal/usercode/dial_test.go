package usercode

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/usercode/usercodetest"
)

func TestAddressOf(t *testing.T) {
	t.Parallel()
	for in, out := range map[*pb.FunctionConfig]string{
		usercodetest.Config("mmf.example", 1):        "mmf.example:1",
		usercodetest.Config("MMF.example.", 65535):   "mmf.example.:65535",
		usercodetest.Config("open-match_mmf", 50502): "open-match_mmf:50502",
		usercodetest.Config("10.0.0.1", 50502):       "10.0.0.1:50502",
		usercodetest.Config("::1", 50502):            "[::1]:50502",
		usercodetest.Config("[::1]", 50502):          "[::1]:50502",
	} {
		at, err := addressOf(in)
		require.NoError(t, err, in)
		require.Equal(t, out, at.String())
	}
	for _, in := range []*pb.FunctionConfig{
		nil, {}, usercodetest.Config("", 50502), usercodetest.Config(".", 50502), usercodetest.Config("mmf", 0), usercodetest.Config("mmf", -1), usercodetest.Config("mmf", 65536), usercodetest.Config("mmf:1", 2), usercodetest.Config("a/b", 1),
		usercodetest.Config("me@mmf", 1), usercodetest.Config("mmf ", 1), usercodetest.Config("fe80::1%eth0", 1), usercodetest.Config("a..b", 1), usercodetest.Config("dns:///mmf", 1), usercodetest.Config("unix:/run/x", 1),
	} {
		_, err := addressOf(in)
		require.Error(t, err, in)
	}
}

// The resolved address is checked right before connecting: checking the name first and resolving it again would let its owner
// change the address in between (DNS rebinding).
func TestConnectChecksTheResolvedAddress(t *testing.T) {
	t.Parallel()
	l := usercodetest.Listen(t, "127.0.0.1:0")
	defer l.Close()
	at := address{host: "localhost", port: int(usercodetest.ConfigOf(l.Addr()).GetPort())}
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
