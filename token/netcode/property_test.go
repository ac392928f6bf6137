package netcode

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func genAddrs() *rapid.Generator[[]netip.AddrPort] {
	one := rapid.Custom(func(t *rapid.T) netip.AddrPort {
		n := rapid.SampledFrom([]int{4, 16}).Draw(t, "n")
		ip, _ := netip.AddrFromSlice(rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "ip"))
		return netip.AddrPortFrom(ip.Unmap(), rapid.Uint16Range(1, 65535).Draw(t, "port"))
	}).Filter(func(a netip.AddrPort) bool { return !a.Addr().IsUnspecified() })
	return rapid.SliceOfN(one, 1, MaxAddrs)
}

func genClaims() *rapid.Generator[Claims] {
	return rapid.Custom(func(t *rapid.T) Claims {
		created := time.Unix(rapid.Int64Range(0, maxUnix-1).Draw(t, "created"), 0)
		timeout := rapid.OneOf(rapid.Just(int64(-1)), rapid.Int64Range(1, 1<<31-1)).Draw(t, "timeout")
		data := make([]byte, UserDataBytes)
		copy(data, rapid.SliceOfN(rapid.Byte(), 0, UserDataBytes).Draw(t, "data"))
		return Claims{
			Public: Public{
				ProtocolID: rapid.Uint64().Draw(t, "protocol"), Created: created,
				Expires: time.Unix(rapid.Int64Range(created.Unix()+1, maxUnix).Draw(t, "expires"), 0),
				Timeout: time.Duration(timeout) * time.Second, Addrs: genAddrs().Draw(t, "public"),
			},
			ClientID: rapid.Uint64Min(1).Draw(t, "client"), Private: genAddrs().Draw(t, "private"), UserData: data,
		}
	})
}

// What is minted opens to the same claims, in every dialect, and only for the same key.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		claims := genClaims().Draw(t, "claims")
		m := minter(t, rapid.SampledFrom(Dialects()).Draw(t, "dialect"), vectorKey(t))
		token, err := m.Mint(claims)
		require.NoError(t, err)
		got, err := m.Open(token.Bytes(), claims.Public.ProtocolID, claims.Public.Expires.Add(-1))
		require.NoError(t, err)
		require.Equal(t, claims, got)
	})
}

// A stranger's bytes: no panic, bounded lists, and nothing accepted that another spelling could also mean.
func FuzzParse(f *testing.F) {
	for _, d := range Dialects() {
		f.Add(vector(f, d, addrs("192.0.2.7:5000"), addrs("192.0.2.7:5000")), string(d))
		f.Add(vector(f, d, addrs("[2001:db8::1]:5000", "192.0.2.7:1"), addrs("192.0.2.7:5000")), string(d))
	}
	f.Fuzz(func(t *testing.T, raw []byte, dialect string) {
		p, err := Parse(raw, Dialect(dialect))
		if err != nil {
			require.ErrorAs(t, err, new(FieldError))
			return
		}
		require.LessOrEqual(t, len(p.Addrs), MaxAddrs)
		c, err := Dialect(dialect).newCodec()
		require.NoError(t, err)
		start := atTimeout + 4
		again := c.appendAddrs(nil, p.Addrs)
		require.Equal(t, raw[start:start+len(again)], again)
	})
}

// A private part that decrypts may still be of another minter.
func FuzzPrivate(f *testing.F) {
	m := minter(f, LightyearBE, vectorKey(f))
	claims := vectorClaims(addrs("192.0.2.7:5000"), addrs("192.0.2.7:5000", "[2001:db8::1]:5000"))
	f.Add(m.encodePrivate(claims, new(salt)), string(LightyearBE))
	f.Fuzz(func(t *testing.T, plain []byte, dialect string) {
		c, err := Dialect(dialect).newCodec()
		if err != nil {
			return
		}
		got, err := c.readPrivate(Claims{Public: claims.Public}, new(salt).keyBytes(), plain)
		if err == nil {
			require.Len(t, got.UserData, UserDataBytes)
			require.LessOrEqual(t, len(got.Private), MaxAddrs)
		}
	})
}
