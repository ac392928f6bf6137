package netcode

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
)

func addrs(words ...string) (list []netip.AddrPort) {
	for _, w := range words {
		list = append(list, netip.MustParseAddrPort(w))
	}
	return list
}

func bytesFrom(first byte, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = first + byte(i)
	}
	return b
}

const vectorProtocol = 80085

var vectorCreated = time.Unix(1_700_000_000, 0)

func vectorKey(t require.TestingT) Key {
	return must.Get(KeyOf(bytesFrom(0, KeyBytes)))(t)
}

func vectorClaims(public, private []netip.AddrPort) Claims {
	return Claims{
		Public: Public{
			ProtocolID: vectorProtocol, Created: vectorCreated, Expires: vectorCreated.Add(30 * time.Second),
			Timeout: 15 * time.Second, Addrs: public,
		},
		ClientID: 0x0102030405060708, Private: private, UserData: []byte("sid=vector"),
	}
}

func minter(t require.TestingT, d Dialect, k Key) *Minter {
	return must.Get(NewMinter(d, k))(t)
}

func vector(t require.TestingT, d Dialect, public, private []netip.AddrPort) []byte {
	var s salt
	copy(s[:], bytesFrom(100, len(s.nonceBytes())))
	copy(s.keyBytes(), strings.Repeat("\xaa", KeyBytes)+strings.Repeat("\xbb", KeyBytes))
	token := must.Get(minter(t, d, vectorKey(t)).mintWith(vectorClaims(public, private), &s))(t)
	return token.Bytes()
}

// Pins tokens that differ in a byte from those of the reference library and of Lightyear, from which these hashes are.
func TestVectors(t *testing.T) {
	t.Parallel()
	ip4, ip6 := addrs("192.0.2.7:5000"), addrs("[2001:db8::1]:5000")
	dialled, bound := netip.MustParseAddrPort("192.0.2.7:31504"), PrivateList(netip.MustParseAddrPort("192.0.2.7:31504"), 6420)
	var many []netip.AddrPort
	for i := 1; i <= MaxAddrs; i++ {
		many = append(many, netip.MustParseAddrPort(fmt.Sprintf("[2001:db8::%x]:%d", i, 40000+i)))
	}
	for _, c := range []struct {
		public, private []netip.AddrPort
		dialect         Dialect
		sha             string
	}{
		{ip4, ip4, Netcode102, "3a422c7806cf4c48879ee37a47571e70c4ca3e931c2c816347da2a01d62f4c59"},
		{ip4, ip4, LightyearLE, "3a422c7806cf4c48879ee37a47571e70c4ca3e931c2c816347da2a01d62f4c59"},
		{ip4, ip4, LightyearBE, "75cc2e70030e35320757c0d55b192ed706ac47221cd227a5fa16fdecf2539c74"},
		{ip6, ip6, Netcode102, "52dcc4ebac8588af337cdd52242516f3b2c938b17e23c9e18e44e58f9c0eef6a"},
		{ip6, ip6, LightyearLE, "12fbc3efc1238f396da523e1cee68728b7c7839f0dfdb7e81a4106e0e5d8e4e8"},
		{ip6, ip6, LightyearBE, "29c81d81c2e026c61596323047e97d61b33141181d3fb209a7b0e7bab433c8ef"},
		{[]netip.AddrPort{dialled}, bound, Netcode102,
			"e0736b653dd5f7f58bdcff7f1676b6ebc9b20c845d4169ac977d889f91edcfb6"},
		{[]netip.AddrPort{dialled}, bound, LightyearLE,
			"e0736b653dd5f7f58bdcff7f1676b6ebc9b20c845d4169ac977d889f91edcfb6"},
		{[]netip.AddrPort{dialled}, bound, LightyearBE,
			"596ac681a310d3edf62a2e540fc6bdebda070d6bab5ce548122d06806e3efc9f"},
		{many, many, Netcode102, "c8d8747ab8b20021a2b35367055e984ba3195813730d963bb3490842bc27bdea"},
		{many, many, LightyearBE, "5050d248ddf6254137fd1068d8dff8a7ab93e28044746c89253704d28921b080"},
	} {
		sum := sha256.Sum256(vector(t, c.dialect, c.public, c.private))
		require.Equal(t, c.sha, hex.EncodeToString(sum[:]), "%s %s", c.dialect, c.public)
	}
}

// Pins fields at other offsets than other implementations read them from: the vectors alone do not say which is wrong.
func TestLayout(t *testing.T) {
	t.Parallel()
	raw := vector(t, LightyearBE, addrs("192.0.2.7:5000"), addrs("192.0.2.7:5000"))
	require.Equal(t, "NETCODE 1.02\x00", string(raw[:13]))
	require.Equal(t, bytesFrom(100, 24), raw[37:61])
	require.Equal(t, []byte{0, 0, 0, 15, 0, 0, 0, 1, 1, 192, 0, 2, 7, 0x13, 0x88}, raw[1085:1100])
	require.Equal(t, strings.Repeat("\xaa", 32)+strings.Repeat("\xbb", 32), string(raw[1100:1164]))
	require.Empty(t, bytes.Trim(raw[1164:], "\x00"))
}

func TestPrivateList(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dialled  string
		internal uint16
		want     []netip.AddrPort
	}{
		{"192.0.2.7:31504", 6420, addrs("192.0.2.7:31504", "0.0.0.0:6420")},
		{"192.0.2.7:6420", 6420, addrs("192.0.2.7:6420", "0.0.0.0:6420")},
		{"[2001:db8::1]:31504", 6420, addrs("[2001:db8::1]:31504", "[::]:6420")},
		{"[::ffff:192.0.2.7]:1", 2, addrs("[::ffff:192.0.2.7]:1", "0.0.0.0:2")},
		{"192.0.2.7:31504", 0, addrs("192.0.2.7:31504")},
	} {
		require.Equal(t, c.want, PrivateList(netip.MustParseAddrPort(c.dialled), c.internal))
	}
}

// Pins a token from bad claims, and an error that names another field.
func TestMintRefuses(t *testing.T) {
	t.Parallel()
	one := addrs("192.0.2.7:5000")
	m := minter(t, LightyearBE, NewKey())
	for name, c := range map[string]struct {
		field string
		spoil func(*Claims)
	}{
		"no public address":      {"public", func(c *Claims) { c.Public.Addrs = nil }},
		"33 public addresses":    {"public", func(c *Claims) { c.Public.Addrs = make([]netip.AddrPort, 33) }},
		"no private address":     {"private", func(c *Claims) { c.Private = nil }},
		"33 private addresses":   {"private", func(c *Claims) { c.Private = make([]netip.AddrPort, 33) }},
		"absent address":         {"private", func(c *Claims) { c.Private = make([]netip.AddrPort, 1) }},
		"port zero":              {"public", func(c *Claims) { c.Public.Addrs = addrs("192.0.2.7:0") }},
		"zone":                   {"public", func(c *Claims) { c.Public.Addrs = addrs("[fe80::1%eth0]:5000") }},
		"unspecified address":    {"public", func(c *Claims) { c.Public.Addrs = addrs("0.0.0.0:5000") }},
		"client id zero":         {"client_id", func(c *Claims) { c.ClientID = 0 }},
		"257 bytes of user data": {"user_data", func(c *Claims) { c.UserData = make([]byte, 257) }},
		"created before 1970":    {"created", func(c *Claims) { c.Public.Created = time.Time{} }},
		"never expires":          {"expires", func(c *Claims) { c.Public.Expires = time.Time{} }},
		"expired when created":   {"expires", func(c *Claims) { c.Public.Expires = c.Public.Created.Add(time.Second / 2) }},
		"expires after 9999":     {"expires", func(c *Claims) { c.Public.Expires = time.Unix(maxUnix+1, 0) }},
		"no timeout":             {"timeout", func(c *Claims) { c.Public.Timeout = 0 }},
		"half a second":          {"timeout", func(c *Claims) { c.Public.Timeout = time.Second / 2 }},
		"timeout of 69 years":    {"timeout", func(c *Claims) { c.Public.Timeout = 1 << 31 * time.Second }},
	} {
		claims := vectorClaims(one, one)
		c.spoil(&claims)
		token, err := m.Mint(claims)
		requireField(t, err, c.field, name)
		require.Nil(t, token.Bytes(), name)
	}
}

func requireField(t *testing.T, err error, field, name string) {
	t.Helper()
	var wrong FieldError
	require.ErrorAs(t, err, &wrong, name)
	require.Equal(t, field, wrong.Field, "%s: %v", name, err)
}

func TestSettingsRefused(t *testing.T) {
	t.Parallel()
	_, err := ParseDialect("netcode")
	requireField(t, err, "dialect", "")
	_, err = NewMinter("", NewKey())
	requireField(t, err, "dialect", "")
	_, err = NewMinter(Netcode102, Key{})
	requireField(t, err, "key", "")
	_, err = KeyOf([]byte("short-secret"))
	requireField(t, err, "key", "")
	require.NotContains(t, err.Error(), "secret")
	for _, d := range Dialects() {
		got, err := ParseDialect(string(d))
		require.NoError(t, err)
		require.Equal(t, d, got)
	}
}

// Pins a server that would accept what it must not.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	one := addrs("192.0.2.7:5000")
	for _, d := range Dialects() {
		raw, m := vector(t, d, one, one), minter(t, d, vectorKey(t))
		_, err := m.Open(raw, vectorProtocol, vectorCreated.Add(30*time.Second-1))
		require.NoError(t, err)
		_, err = m.Open(raw, vectorProtocol, vectorCreated.Add(30*time.Second))
		requireField(t, err, "expires", "late")
		_, err = m.Open(raw, vectorProtocol+1, vectorCreated)
		requireField(t, err, "protocol_id", "other game")
		_, err = minter(t, d, NewKey()).Open(raw, vectorProtocol, vectorCreated)
		requireField(t, err, "private", "other key")
		_, err = m.Open(raw[1:], vectorProtocol, vectorCreated)
		requireField(t, err, "size", "truncated")
		for at := range raw {
			changed := bytes.Clone(raw)
			changed[at] ^= 1
			_, err = m.Open(changed, vectorProtocol, vectorCreated)
			created, public := at >= atCreated && at < atExpires, at >= atTimeout+8 && at < atTimeout+8+7
			if !created && !public { // the version says that these two are not authenticated
				require.Error(t, err, "%s byte %d", d, at)
			}
		}
	}
	_, err := minter(t, LightyearBE, vectorKey(t)).Open(vector(t, Netcode102, one, one), vectorProtocol, vectorCreated)
	require.Error(t, err, "other dialect")
}

// Pins a bounded lifetime that is read from a token without one: others mint such tokens.
func TestParseNeverExpires(t *testing.T) {
	t.Parallel()
	raw := vector(t, Netcode102, addrs("192.0.2.7:5000"), addrs("192.0.2.7:5000"))
	copy(raw[atExpires:atNonce], strings.Repeat("\xff", 8))
	p, err := Parse(raw, Netcode102)
	require.NoError(t, err)
	require.True(t, p.Expires.IsZero())
}

// Pins a key or token in a log line or an error, also where it is an unexported field, which fmt prints without its
// methods.
func TestSecretsAreNotPrinted(t *testing.T) {
	t.Parallel()
	k := vectorKey(t)
	m := minter(t, LightyearBE, k)
	token, err := m.Mint(vectorClaims(addrs("192.0.2.7:5000"), addrs("192.0.2.7:5000")))
	require.NoError(t, err)
	type holder struct {
		key   Key
		token Token
		Key   Key
		Token Token
	}
	h := holder{k, token, k, token}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", slog.Any("k", k), slog.Any("t", token), slog.Any("h", h))
	asJSON, err := json.Marshal(h)
	require.NoError(t, err)
	text := log.String() + string(asJSON)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%X", "%d", "%q"} {
		text += fmt.Sprintf(verb+verb+verb+verb, k, token, h, &h)
	}
	text = strings.ToLower(text)
	for _, secret := range [][]byte{k.Secret(), token.Bytes(), []byte(k.Hex()), []byte(k.Decimals()),
		[]byte(token.Base64()), []byte(version)} {
		numbers := fmt.Sprintf("%d", secret)
		for _, form := range []string{string(secret), hex.EncodeToString(secret), strings.Trim(numbers, "[]")} {
			require.NotContains(t, text, strings.ToLower(form))
		}
	}
	require.Contains(t, text, hidden)
}

func TestFormsOfSecrets(t *testing.T) {
	t.Parallel()
	k := vectorKey(t)
	require.Equal(t, hex.EncodeToString(bytesFrom(0, 32)), k.Hex())
	require.True(t, strings.HasPrefix(k.Decimals(), "[0, 1, 2, ") && strings.HasSuffix(k.Decimals(), ", 31]"))
	require.True(t, k.Equal(vectorKey(t)))
	require.False(t, k.Equal(NewKey()))
	require.False(t, k.Equal(Key{}))
	require.False(t, NewKey().Equal(NewKey()))
	m := minter(t, LightyearLE, k)
	claims := vectorClaims(addrs("192.0.2.7:5000"), addrs("192.0.2.7:5000"))
	token, err := m.Mint(claims)
	require.NoError(t, err)
	require.Len(t, token.Base64(), 2732)
	raw, err := base64.StdEncoding.DecodeString(token.Base64())
	require.NoError(t, err)
	require.Equal(t, token.Bytes(), raw)
	again, err := m.Mint(claims)
	require.NoError(t, err)
	require.NotEqual(t, raw[atNonce:atPrivate], again.Bytes()[atNonce:atPrivate],
		"a nonce that is used twice reveals both plain texts")
	require.Empty(t, Token{}.Base64())
}

func BenchmarkMint(b *testing.B) {
	m := minter(b, LightyearBE, vectorKey(b))
	dialled := netip.MustParseAddrPort("192.0.2.7:31504")
	claims := vectorClaims([]netip.AddrPort{dialled}, PrivateList(dialled, 6420))
	for b.Loop() {
		_, err := m.Mint(claims)
		require.NoError(b, err)
	}
}
