package bevygap

import "net/netip"

// sharedAddresses is the network of carrier-grade NAT (RFC 6598), which says nothing about where a player is.
var sharedAddresses = netip.MustParsePrefix("100.64.0.0/10")

// public reports whether an address says where on the internet a player is.
func public(a netip.Addr) bool {
	return a.IsGlobalUnicast() && !a.IsPrivate() && !sharedAddresses.Contains(a)
}

// address parses an address. It returns the zero Addr for what is none.
func address(text string) netip.Addr {
	a, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Addr{}
	}
	return a.Unmap().WithZone("")
}

// where returns the address by which the region of a request is chosen: the first claim that is a public address, else
// the peer's. The claims are the client's, so they count only where the operator says so.
func where(peer netip.Addr, trusted bool, claims ...string) netip.Addr {
	if !trusted {
		return peer
	}
	for _, claim := range claims {
		if a := address(claim); public(a) {
			return a
		}
	}
	return peer
}
