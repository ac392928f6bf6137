package bevygap

import "net/netip"

// sharedAddresses is the network of carrier-grade NAT (RFC 6598), which says nothing about where a player is.
var sharedAddresses = netip.MustParsePrefix("100.64.0.0/10")

// isPublic reports whether an address says where on the internet a player is.
func isPublic(a netip.Addr) bool {
	return a.IsGlobalUnicast() && !a.IsPrivate() && !sharedAddresses.Contains(a)
}

// parseAddress parses an address. It returns the zero Addr for what is none.
func parseAddress(text string) netip.Addr {
	a, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Addr{}
	}
	return a.Unmap().WithZone("")
}

// locatingAddress returns the address by which the region of a request is chosen: the first claim of the client that is
// a public address, if claims are trusted, else the peer's.
func locatingAddress(peer netip.Addr, trustsClaims bool, claims ...string) netip.Addr {
	if !trustsClaims {
		return peer
	}
	for _, claim := range claims {
		if a := parseAddress(claim); isPublic(a) {
			return a
		}
	}
	return peer
}
