package outbound

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestAllowList(t *testing.T) {
	t.Parallel()
	everything := []string{"0.0.0.0/0", "::/0", "mmf.example", "*.example"}
	for name, c := range map[string]struct {
		list     []string
		host, ip string
		allowed  bool
	}{
		"loopback has to be listed":                 {nil, "localhost", "127.0.0.1", false},
		"loopback, version 6":                       {nil, "::1", "::1", false},
		"all of loopback":                           {nil, "x", "127.8.9.10", false},
		"a network that is more than loopback":      {everything, "x", "127.0.0.1", false},
		"the same, version 6":                       {everything, "::1", "::1", false},
		"a listed name that means loopback":         {everything, "mmf.example", "127.0.0.1", false},
		"localhost by name":                         {[]string{"localhost"}, "Localhost.", "127.0.0.1", true},
		"localhost by name, version 6":              {[]string{"localhost"}, "localhost", "::1", true},
		"another name of loopback":                  {[]string{"localhost"}, "x.example", "127.0.0.1", false},
		"an address of loopback":                    {[]string{"127.0.0.1"}, "127.0.0.1", "127.0.0.1", true},
		"its neighbour on loopback":                 {[]string{"127.0.0.1"}, "127.0.0.2", "127.0.0.2", false},
		"loopback as a network":                     {[]string{"127.0.0.0/8"}, "x", "127.8.9.10", true},
		"loopback of version 6 as an address":       {[]string{"::1"}, "::1", "::1", true},
		"off loopback there must be a list":         {nil, "mmf.example", "10.0.0.1", false},
		"a host of the list":                        {[]string{"mmf.example"}, "mmf.example", "10.0.0.1", true},
		"case and a last dot do not matter":         {[]string{"MMF.example."}, "mmf.Example.", "10.0.0.1", true},
		"another host":                              {[]string{"mmf.example"}, "mmf.example.org", "10.0.0.1", false},
		"a host below one of the list":              {[]string{"mmf.example"}, "a.mmf.example", "10.0.0.1", false},
		"a name below":                              {[]string{"*.example"}, "a.b.example", "10.0.0.1", true},
		"the name itself is not below":              {[]string{"*.example"}, "example", "10.0.0.1", false},
		"a name that only ends alike":               {[]string{"*.example"}, "badexample", "10.0.0.1", false},
		"an address of a network":                   {[]string{"10.1.0.0/16"}, "any.name", "10.1.2.3", true},
		"a network written by one of its addresses": {[]string{"10.1.7.7/16"}, "any.name", "10.1.2.3", true},
		"an address outside of it":                  {[]string{"10.1.0.0/16"}, "any.name", "10.2.0.1", false},
		"one address":                               {[]string{"10.1.2.3"}, "10.1.2.3", "10.1.2.3", true},
		"its neighbour":                             {[]string{"10.1.2.3"}, "10.1.2.4", "10.1.2.4", false},
		"version 4 within version 6":                {[]string{"10.1.0.0/16"}, "x", "::ffff:10.1.2.3", true},
		// A notation of the network that Allows, which compares IPv4 addresses, would never find.
		"a network of version 4 within version 6": {[]string{"::ffff:10.1.0.0/112"}, "x", "10.1.2.3", true},
		"its address within version 6":            {[]string{"::ffff:10.1.0.0/112"}, "x", "::ffff:10.1.2.3", true},
		"an address outside of that":              {[]string{"::ffff:10.1.0.0/112"}, "x", "10.2.0.1", false},
		"a zone":                                  {[]string{"fd12::/16"}, "x", "fd12::1%eth0", true},

		"metadata":                               {everything, "mmf.example", "169.254.169.254", false},
		"metadata within version 6":              {everything, "mmf.example", "::ffff:169.254.169.254", false},
		"metadata behind a translator":           {everything, "mmf.example", "64:ff9b::a9fe:a9fe", false},
		"metadata behind a translator of ours":   {everything, "mmf.example", "64:ff9b:1::a9fe:a9fe", false},
		"metadata behind a prefix of 48 bits":    {everything, "mmf.example", "64:ff9b:1:a9fe:a9:fe00::", false},
		"the same with bits behind it":           {everything, "mmf.example", "64:ff9b:1:a9fe:a9:fe00:808:808", false},
		"metadata behind a prefix of 56 bits":    {everything, "mmf.example", "64:ff9b:1:a9:fe:a9fe:0:1", false},
		"metadata behind a prefix of 64 bits":    {everything, "mmf.example", "64:ff9b:1:0:a9:fea9:fe00:0", false},
		"loopback behind a prefix of 64 bits":    {everything, "mmf.example", "64:ff9b:1:0:7f:0:100:0", false},
		"this network behind any prefix":         {everything, "mmf.example", "64:ff9b:1::1", false},
		"10.1.2.3 behind a prefix of 48 bits":    {everything, "mmf.example", "64:ff9b:1:a01:2:300::", true},
		"10.1.2.3 behind a prefix of 56 bits":    {everything, "mmf.example", "64:ff9b:1:a:1:203::", true},
		"10.1.2.3 behind a prefix of 64 bits":    {everything, "mmf.example", "64:ff9b:1:0:a:102:300:0", true},
		"10.1.2.3 behind a prefix of 96 bits":    {everything, "mmf.example", "64:ff9b:1::a01:203", true},
		"another address behind a translator":    {everything, "mmf.example", "64:ff9b::a01:203", true},
		"metadata, IPv4-compatible":              {everything, "mmf.example", "::169.254.169.254", false},
		"metadata, IPv4-translated":              {everything, "mmf.example", "::ffff:0:169.254.169.254", false},
		"metadata by 6to4":                       {everything, "mmf.example", "2002:a9fe:a9fe::1", false},
		"metadata as a Teredo server":            {everything, "mmf.example", "2001:0:a9fe:a9fe::5601:5601", false},
		"metadata as a Teredo client":            {everything, "mmf.example", "2001::8000:0:5601:5601", false},
		"loopback, IPv4-compatible":              {everything, "mmf.example", "::127.0.0.1", false},
		"loopback by 6to4":                       {everything, "mmf.example", "2002:7f00:1::", false},
		"loopback behind a translator":           {everything, "mmf.example", "64:ff9b::7f00:1", false},
		"another address by 6to4":                {everything, "mmf.example", "2002:a01:203::1", true},
		"metadata of Amazon":                     {everything, "mmf.example", "fd00:ec2::254", false},
		"metadata of Google":                     {everything, "mmf.example", "fd20:ce::254", false},
		"metadata of Alibaba":                    {everything, "mmf.example", "100.100.100.200", false},
		"link-local with a zone":                 {everything, "mmf.example", "fe80::1%eth0", false},
		"unspecified, which is this machine":     {everything, "mmf.example", "0.0.0.0", false},
		"unspecified, version 6":                 {everything, "mmf.example", "::", false},
		"unspecified, version 4 within 6":        {everything, "mmf.example", "::ffff:0.0.0.0", false},
		"multicast":                              {everything, "mmf.example", "239.1.1.1", false},
		"multicast, version 6":                   {everything, "mmf.example", "ff02::1", false},
		"broadcast":                              {everything, "mmf.example", "255.255.255.255", false},
		"naming metadata in the list opens none": {[]string{"169.254.169.254"}, "169.254.169.254", "169.254.169.254", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list, err := ParseAllowList(c.list, false)
			require.NoError(t, err)
			require.Equal(t, c.allowed, list.Allows(c.host, netip.MustParseAddr(c.ip)))
		})
	}
}

func TestParseAllowListRefuses(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{"", "*", "*.", ".example", "a..b", "*.*.example", "http://mmf", "mmf:50502", "10.0.0.0/33", "::ffff:10.1.0.0/95", "a b", "ä.example", strings.Repeat("a", 64)} {
		_, err := ParseAllowList([]string{"mmf.example", entry}, false)
		require.Error(t, err, entry)
	}
}

// No list allows link-local, multicast and unspecified addresses, in any notation.
func TestNoListAllowsWhatIsNeverDialled(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		bytes := rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "bytes")
		ip := netip.AddrFrom16([16]byte(bytes))
		if rapid.Bool().Draw(t, "four") {
			ip = netip.AddrFrom4([4]byte(bytes))
		}
		ip = rapid.SampledFrom([]netip.Addr{
			ip, netip.AddrFrom4([4]byte{169, 254, bytes[0], bytes[1]}), netip.AddrFrom4([4]byte{224 | bytes[0]&15, bytes[1], bytes[2], bytes[3]}),
			netip.AddrFrom16([16]byte(append([]byte{0xff}, bytes[1:]...))), netip.AddrFrom16([16]byte(append([]byte{0xfe, 0x80}, bytes[2:]...))),
		}).Draw(t, "ip")
		list, err := ParseAllowList([]string{"0.0.0.0/0", "::/0", "host", ip.String()}, true)
		require.NoError(t, err)
		written := rapid.SampledFrom([]netip.Addr{ip, netip.AddrFrom16(ip.As16()), ip.WithZone("eth0")}).Draw(t, "written")
		u := ip.Unmap()
		if u.IsMulticast() || u.IsLinkLocalUnicast() || u.IsUnspecified() {
			require.False(t, list.Allows("host", written))
		}
		require.Equal(t, list.Allows("host", ip), list.Allows("host", written))
	})
}

// The resolved address is checked right before connecting: checking the name first and resolving it again would let its
// owner change the address in between (DNS rebinding).
func TestDialChecksTheResolvedAddress(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	at := net.JoinHostPort("localhost", port)
	var judged []netip.Addr
	allowed := Dialer{Allows: func(host string, ip netip.Addr) bool {
		require.Equal(t, "localhost", host)
		judged = append(judged, ip)
		return true
	}}
	conn, err := allowed.Dial(t.Context(), "localhost", at)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	require.Contains(t, judged, netip.MustParseAddr("127.0.0.1"))

	refuses := Dialer{Allows: func(string, netip.Addr) bool { return false }}
	_, err = refuses.Dial(context.Background(), "localhost", at)
	require.ErrorIs(t, err, ErrRefused)
}
