package bevygap

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
)

func TestFrames(t *testing.T) {
	t.Parallel()
	requireFrame(t, `{"SessionRequestAccepted":"<a&b>\"\n"}`, string(encodeAccepted("<a&b>\"\n")))
	requireFrame(t, `{"Error":[409,"full"]}`, string(encodeFailure(*newFailure(409, "full"))))
	require.Equal(t, "192.0.2.7", hostText(netip.MustParseAddr("::ffff:192.0.2.7")))
	require.Equal(t, "[fe80::1]", hostText(netip.MustParseAddr("fe80::1%eth0")))
}

func TestRegions(t *testing.T) {
	t.Parallel()
	network := func(texts ...string) (all []netip.Prefix) {
		for _, text := range texts {
			all = append(all, netip.MustParsePrefix(text))
		}
		return all
	}
	offer := db.Offer{App: "a", Version: "1", Dialect: "netcode102", Regions: []db.OfferRegion{
		{Region: "asia", Modes: []string{"m"}},
		{Region: "eu", Modes: []string{"m", "n"}, Networks: network("0.0.0.0/0", "203.0.113.0/25")},
		{Region: "us", Modes: []string{"m"}, Networks: network("203.0.113.0/24", "2001:db8::/32")},
	}}
	for _, test := range []struct{ from, region, mode, want string }{
		{"203.0.113.1", "", "", "eu m"},
		{"203.0.113.200", "", "", "us m"},
		{"198.51.100.1", "", "", "eu m"},
		{"2001:db8::1", "", "", "us m"},
		{"2001:db9::1", "", "", "asia m"},
		{"203.0.113.200", "", "n", "eu n"},
		{"203.0.113.1", "us", "", "us m"},
		{"", "", "", "asia m"},
	} {
		region, mode, failed := chooseOffer(offer, choice{test.region, test.mode, parseAddress(test.from)})
		require.Nil(t, failed)
		require.Equal(t, test.want, region+" "+mode, "%+v", test)
	}
}

func TestHints(t *testing.T) {
	t.Parallel()
	peer := netip.MustParseAddr("203.0.113.9")
	for claim, want := range map[string]string{
		"198.51.100.1": "198.51.100.1", "::ffff:198.51.100.1": "198.51.100.1", "2600::1": "2600::1",
		"": "203.0.113.9", "example.com": "203.0.113.9", "10.0.0.1": "203.0.113.9", "127.0.0.1": "203.0.113.9",
		"::1":         "203.0.113.9",
		"169.254.1.1": "203.0.113.9", "100.64.0.1": "203.0.113.9", "0.0.0.0": "203.0.113.9", "224.0.0.1": "203.0.113.9",
		"fe80::1": "203.0.113.9",
	} {
		require.Equal(t, want, locatingAddress(peer, true, claim).String(), claim)
		require.Equal(t, peer, locatingAddress(peer, false, claim), claim)
	}
	require.Equal(t, "198.51.100.1", locatingAddress(peer, true, "", "198.51.100.1").String(),
		"the JSON counts where the query is empty")
	require.False(t, requestFor(db.Offer{}, "eu", "m", "ann", netip.MustParseAddr("10.0.0.1")).Address.IsValid())
	require.True(t, requestFor(db.Offer{}, "eu", "m", "ann", peer).Address.IsValid())
}

func TestParseDefault(t *testing.T) {
	t.Parallel()
	game, version, err := ParseDefault("my game/1.0")
	require.NoError(t, err)
	require.Equal(t, "my game 1.0", game+" "+version)
	for _, bad := range []string{"", "game", "/1", "game/", "a/b/c"} {
		_, _, err := ParseDefault(bad)
		require.Error(t, err, bad)
	}
}

func FuzzDecodeRequest(f *testing.F) {
	for _, seed := range []string{
		`{"game":"my game","version":"1.0","client_ip":null}`, `{"game":"g","version":"1","client_ip":"203.0.113.1"}`, `{"game":"\ud800","version":"1"}`,
		`{"game":null,"version":"1"}`, `[]`, `null`, `{`, strings.Repeat(" ", maxFrame+1), `{"game":"g","version":"1"}{}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		r, err := decodeRequest(message)
		if err != nil {
			require.NotEmpty(t, err.Error())
			require.True(t, json.Valid(encodeFailure(*newFailure(400, "%s", err))))
			return
		}
		require.True(t, validName(r.game) && validName(r.version))
		require.True(t, json.Valid(encodeAccepted(r.game)))
		locatingAddress(netip.Addr{}, true, r.clientIP)
	})
}
