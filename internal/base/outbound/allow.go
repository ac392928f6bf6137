// Package outbound limits which hosts the director connects to for somebody else: hosts that callers and profiles name
// as match functions, and those of webhooks. It decides by the address that a name was resolved to, right before the
// connection.
package outbound

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/lattice-director/director/internal/base/network"
)

// AllowList limits the hosts that others name. Without a list, the caller of FetchMatches could make the director
// connect to any host that the director reaches. The zero value allows nothing. It is immutable.
type AllowList struct {
	allowsAllLoopback bool     // all of loopback, listed or not
	hostNames         []string // in lower case; with a leading dot every name below
	networks          []netip.Prefix
}

// ParseAllowList reads a list. An entry is a host name, "*." and a name for all names below it, an address, or a
// network such as "10.1.0.0/16". No entry allows what [neverDialled] lists, and only "localhost" and networks within
// loopback allow loopback: services there trust everybody who reaches them.
func ParseAllowList(entries []string, loopback bool) (AllowList, error) {
	list := AllowList{allowsAllLoopback: loopback}
	for _, entry := range entries {
		entry = strings.ToLower(strings.TrimSpace(entry))
		if listed, err := network.ParseOrAddress(entry); err == nil {
			list.networks = append(list.networks, listed)
			continue
		}
		name, below := strings.CutPrefix(entry, "*.")
		// An entry that can never match would look like a rule.
		if !IsHostName(name) {
			return AllowList{}, fmt.Errorf("%q is not a host, an address or a network", entry)
		}
		name = strings.TrimSuffix(name, ".")
		if below {
			name = "." + name
		}
		list.hostNames = append(list.hostNames, name)
	}
	return list, nil
}

// neverDialled are networks that no list allows: cloud metadata services, and addresses that are not one machine.
var neverDialled = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),          // on Linux, 0.0.0.0 is this machine
	netip.MustParsePrefix("::/128"),             // the same
	netip.MustParsePrefix("169.254.0.0/16"),     // link-local: metadata of most clouds, credentials of their containers
	netip.MustParsePrefix("fe80::/10"),          // link-local
	netip.MustParsePrefix("224.0.0.0/4"),        // multicast
	netip.MustParsePrefix("ff00::/8"),           // multicast
	netip.MustParsePrefix("255.255.255.255/32"), // broadcast
	netip.MustParsePrefix("fd00:ec2::/32"),      // metadata of Amazon
	netip.MustParsePrefix("fd20:ce::/32"),       // metadata of Google
	netip.MustParsePrefix("100.100.100.200/32"), // metadata of Alibaba
	netip.MustParsePrefix("192.0.0.192/32"),     // metadata of Oracle
	netip.MustParsePrefix("168.63.129.16/32"),   // metadata of Azure
}

// Allows reports whether a connection may go to the address that a host's name was resolved to. The name alone does not
// decide: its owner can change the address at any time.
func (l AllowList) Allows(host string, ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("") // a network does not contain an address with a zone
	for _, meant := range containedAddresses(ip) {
		if containsAddress(neverDialled, meant) || meant.IsLoopback() && !l.allowsLoopback(host, meant) {
			return false
		}
	}
	// Loopback that is not allowed was refused in the loop; what is left of it needs no entry for its host.
	return ip.IsLoopback() || l.listsHost(host) || containsAddress(l.networks, ip)
}

func (l AllowList) allowsLoopback(host string, ip netip.Addr) bool {
	if l.allowsAllLoopback || strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") && l.listsHost(host) {
		return true
	}
	return slices.ContainsFunc(l.networks, func(n netip.Prefix) bool { return n.Addr().IsLoopback() && n.Contains(ip) })
}

func (l AllowList) listsHost(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return slices.ContainsFunc(l.hostNames, func(h string) bool {
		return host == h || strings.HasPrefix(h, ".") && strings.HasSuffix(host, h)
	})
}

func containsAddress(networks []netip.Prefix, ip netip.Addr) bool {
	return slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(ip) })
}

// IsHostName reports whether a text is a host name: labels of letters, digits, hyphens and underscores, between dots.
// Resolvers accept more, but other parsers may read such a name differently.
func IsHostName(s string) bool {
	return len(s) <= 253 && !slices.ContainsFunc(strings.Split(strings.TrimSuffix(s, "."), "."),
		func(label string) bool {
			return label == "" || len(label) > 63 || strings.ContainsFunc(label, func(r rune) bool {
				return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
			})
		})
}
