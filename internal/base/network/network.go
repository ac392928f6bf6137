// Package network reads networks of IP addresses, as settings and files have them.
package network

import (
	"fmt"
	"net/netip"
)

// mappedBits is the length of ::ffff:0:0/96, the prefix of IPv4-mapped addresses.
const mappedBits = 96

// Parse reads a network such as "10.1.0.0/16". IPv4-mapped addresses are compared as the IPv4 addresses that they mean,
// so a network of them is read as the IPv4 network: "::ffff:10.1.0.0/112" is 10.1.0.0/16. Host bits stay. Errors: the
// text is no network, or one that has IPv4-mapped and other addresses.
func Parse(text string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(text)
	if err != nil || !p.Addr().Is4In6() {
		return p, err
	}
	// Its addresses within ::ffff:0:0/96 would never match.
	if p.Bits() < mappedBits {
		return netip.Prefix{}, fmt.Errorf("%q is wider than the network of IPv4-mapped addresses: "+
			"write the IPv4 network", text)
	}
	return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-mappedBits), nil
}

// ParseOrAddress reads a network without its host bits, or an address as the network that holds it alone. The zone of an
// address is dropped, since no network contains an address with a zone. Errors: the text is neither.
func ParseOrAddress(text string) (netip.Prefix, error) {
	if p, err := Parse(text); err == nil {
		return p.Masked(), nil
	}
	ip, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%q is neither an address nor a network", text)
	}
	ip = ip.Unmap().WithZone("")
	return netip.PrefixFrom(ip, ip.BitLen()), nil
}
