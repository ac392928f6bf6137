package orchestrator

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// proxies are the networks whose X-Forwarded-For is trusted.
type proxies []netip.Prefix

func newProxies(texts []string) (proxies, error) {
	var p proxies
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

func (p proxies) trusts(a netip.Addr) bool {
	return slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(a) })
}

// client returns the address of the caller: the last address in X-Forwarded-For that is not a trusted proxy's. The zero Addr means unknown.
func (p proxies) client(r *http.Request) netip.Addr {
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

// limitKey returns the prefix by which failures are counted: a /64 for IPv6, because the owner of one address usually has the whole /64.
func limitKey(a netip.Addr) string {
	a = a.WithZone("")
	if network, err := a.Prefix(64); err == nil && a.Is6() {
		return network.String()
	}
	return a.String()
}
