package main

import (
	"encoding/json"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/token/netcode"
)

// Pins a netcode token that is called malformed, an expired one without a word, and keys in the output.
func TestTokenInspectNetcode(t *testing.T) {
	t.Parallel()
	dials := []netip.AddrPort{netip.MustParseAddrPort("192.0.2.7:5000")}
	minted := func(d netcode.Dialect, created time.Time) string {
		m, err := netcode.NewMinter(d, netcode.NewKey())
		require.NoError(t, err)
		token, err := m.Mint(netcode.Claims{
			Public:   netcode.Public{ProtocolID: 1 << 63, Created: created, Expires: created.Add(time.Minute), Timeout: 15 * time.Second, Addrs: dials},
			ClientID: 7, Private: dials,
		})
		require.NoError(t, err)
		return token.Base64()
	}
	raw := minted(netcode.LightyearBE, time.Now())
	r := director.Run(t, env(), raw+"\n", "token", "inspect", "-", "-o", "json")
	require.NoError(t, r.Err)
	var i inspectedNetcode
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &i), r.Stdout)
	require.Equal(t, uint64(1<<63), i.ProtocolID)
	require.Equal(t, map[netcode.Dialect][]netip.AddrPort{netcode.LightyearBE: dials}, i.Dials)
	require.False(t, i.Expired)

	r = director.Run(t, env(), minted(netcode.Netcode102, time.Now().Add(-time.Hour))+"\n", "token", "inspect", "-")
	require.Equal(t, 1, cli.ExitCode(r.Err))
	require.ErrorContains(t, r.Err, "it expired 59m")
	require.Contains(t, r.Stdout, "[192.0.2.7:5000], if the game's dialect is netcode102")
	require.Contains(t, r.Stdout, "[192.0.2.7:5000], if the game's dialect is lightyear-le")
	require.Less(t, len(r.Stdout), 500, "the keys of the connection are not printed")
}
