package outbound

import "net/netip"

// embeddings are IPv6 networks whose addresses contain an IPv4 address, to which a packet may be forwarded, and the
// byte at which that begins. localTranslation is another one.
var embeddings = []struct {
	network netip.Prefix
	start   int
	flipped bool
}{
	{network: netip.MustParsePrefix("::/96"), start: 12},                    // IPv4-compatible (RFC 4291)
	{network: netip.MustParsePrefix("::ffff:0:0:0/96"), start: 12},          // IPv4-translated (RFC 2765)
	{network: netip.MustParsePrefix("64:ff9b::/96"), start: 12},             // NAT64 (RFC 6052)
	{network: netip.MustParsePrefix("2002::/16"), start: 2},                 // 6to4 (RFC 3056)
	{network: netip.MustParsePrefix("2001::/32"), start: 4},                 // Teredo (RFC 4380): the server
	{network: netip.MustParsePrefix("2001::/32"), start: 12, flipped: true}, // and the client, each bit of it flipped
}

// containedAddresses returns an address and the IPv4 addresses that it contains.
func containedAddresses(ip netip.Addr) []netip.Addr {
	all := []netip.Addr{ip}
	if ip.IsLoopback() || ip.IsUnspecified() {
		return all // ::1 and :: look like 0.0.0.1 and 0.0.0.0
	}
	for _, e := range embeddings {
		if !e.network.Contains(ip) {
			continue
		}
		bytes := ip.As16()
		four := [4]byte(bytes[e.start:])
		if e.flipped {
			four = [4]byte{^four[0], ^four[1], ^four[2], ^four[3]}
		}
		all = append(all, netip.AddrFrom4(four))
	}
	if localTranslation.Contains(ip) {
		all = append(all, translatedAddresses(ip)...)
	}
	return all
}

var (
	// localTranslation is for NAT64 of one's own (RFC 8215), with a prefix of any length that RFC 6052 has.
	localTranslation = netip.MustParsePrefix("64:ff9b:1::/48")
	// translatedBytes are the bytes of the IPv4 address behind a prefix of 48, 56, 64 and 96 bits; byte 8 is left out
	// (RFC 6052, section 2.2).
	translatedBytes = [][4]int{{6, 7, 9, 10}, {7, 9, 10, 11}, {9, 10, 11, 12}, {12, 13, 14, 15}}
	thisNetwork     = netip.MustParsePrefix("0.0.0.0/8")
)

// translatedAddresses returns the IPv4 addresses that an address of localTranslation may mean. It does not show the
// length of its prefix.
func translatedAddresses(ip netip.Addr) (all []netip.Addr) {
	bytes := ip.As16()
	for _, at := range translatedBytes {
		four := netip.AddrFrom4([4]byte{bytes[at[0]], bytes[at[1]], bytes[at[2]], bytes[at[3]]})
		// The zeros before and behind an IPv4 address, read with the wrong length. No translator forwards to them.
		if !thisNetwork.Contains(four) {
			all = append(all, four)
		}
	}
	// With every length it means this network.
	if len(all) == 0 {
		return []netip.Addr{netip.IPv4Unspecified()}
	}
	return all
}
