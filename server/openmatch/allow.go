package openmatch

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// allowList says which match functions may be called. A caller of FetchMatches names the host, so that without a list it
// could have the director connect to anything the director reaches. The zero value allows this machine's loopback only. It
// is never changed.
type allowList struct {
	hosts    []string // in lower case; with a leading dot every name below
	networks []netip.Prefix
}

// parseAllowList reads a list. An entry is a host name, "*." and a name for all names below it, an address, or a network
// such as "10.1.0.0/16". What [neverDialled] lists is not to be had.
func parseAllowList(entries []string) (allowList, error) {
	var list allowList
	for _, entry := range entries {
		entry = strings.ToLower(strings.TrimSpace(entry))
		if network, err := parseNetwork(entry); err == nil {
			list.networks = append(list.networks, network)
			continue
		}
		name, below := strings.CutPrefix(entry, "*.")
		if !isHostName(name) {
			return allowList{}, fmt.Errorf("%q is not a host, an address or a network that match functions may have", entry)
		}
		name = strings.TrimSuffix(name, ".")
		if below {
			name = "." + name
		}
		list.hosts = append(list.hosts, name)
	}
	return list, nil
}

// parseNetwork reads a network, or an address as the network it is alone in.
func parseNetwork(text string) (netip.Prefix, error) {
	if network, err := netip.ParsePrefix(text); err == nil {
		return network.Masked(), nil
	}
	ip, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	return ip.Unmap().WithZone("").Prefix(ip.Unmap().BitLen())
}

// neverDialled is what no list opens: where a machine keeps what it knows about itself, and what is no single machine.
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

// nat64 networks carry an IPv4 address in their last 32 bits (RFC 6052, RFC 8215).
var nat64 = []netip.Prefix{netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48")}

// allows tells whether a connection may go to the address, to which the name of a host was resolved. The name alone says
// nothing: whoever owns it can have it mean another address at any time.
func (l allowList) allows(host string, ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("") // a network does not contain an address with a zone
	if within(neverDialled, ip) || within(nat64, ip) && within(neverDialled, lastFour(ip)) {
		return false
	}
	return ip.IsLoopback() || l.lists(host) || within(l.networks, ip)
}

func (l allowList) lists(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return slices.ContainsFunc(l.hosts, func(h string) bool {
		return host == h || strings.HasPrefix(h, ".") && strings.HasSuffix(host, h)
	})
}

func within(networks []netip.Prefix, ip netip.Addr) bool {
	return slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(ip) })
}

func lastFour(ip netip.Addr) netip.Addr {
	b := ip.As16()
	return netip.AddrFrom4([4]byte(b[12:]))
}

// isHostName tells whether a text can be a host's name: labels of letters, digits, hyphens and underscores, between dots.
// What the lookup takes beyond that may be read as something else by whoever gets it next.
func isHostName(s string) bool {
	return len(s) <= 253 && !slices.ContainsFunc(strings.Split(strings.TrimSuffix(s, "."), "."), func(label string) bool {
		return label == "" || len(label) > 63 || strings.ContainsFunc(label, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
		})
	})
}
