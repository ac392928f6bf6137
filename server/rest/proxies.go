package rest

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Proxies are the networks whose X-Forwarded-For is trusted.
type Proxies []netip.Prefix

// ParseProxies parses addresses and networks (CIDRs). Errors: a text is neither.
func ParseProxies(texts []string) (Proxies, error) {
	var p Proxies
	for _, text := range texts {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			addr, notAddr := netip.ParseAddr(text)
			if notAddr != nil {
				return nil, fmt.Errorf("%q is neither an address nor a network", text)
			}
			network = netip.PrefixFrom(addr, addr.BitLen())
		}
		p = append(p, network.Masked())
	}
	return p, nil
}

func (p Proxies) trusts(a netip.Addr) bool {
	return slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(a) })
}

// TrustsPeer reports whether a request comes from a trusted proxy, directly.
func (p Proxies) TrustsPeer(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && p.trusts(peer.Addr().Unmap())
}

// Client returns the address of the caller: the last address in X-Forwarded-For that is not a trusted proxy's. The zero Addr means unknown.
func (p Proxies) Client(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	client := peer.Addr().Unmap()
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		if !p.trusts(client) {
			break
		}
		before, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			break
		}
		client = before.Unmap()
	}
	return client
}

// AddressKey returns the prefix by which failures are counted: a /64 for IPv6, because the owner of one address usually has the whole /64.
func AddressKey(a netip.Addr) string {
	a = a.WithZone("")
	if network, err := a.Prefix(64); err == nil && a.Is6() {
		return network.String()
	}
	return a.String()
}
