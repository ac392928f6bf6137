// Package endpoint judges what players dial. Game servers and providers often report what a server binds instead, such
// as 0.0.0.0. Settings with URLs are judged by [HasHost].
package endpoint

import (
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// MaxBytes bounds an endpoint.
const MaxBytes = 255

// Allowed describes what [IsDialable] takes.
const Allowed = "what players dial, not what the server binds: host:port ([host]:port for IPv6) or a URL, " +
	"up to 255 characters, with a port from 1 to 65535"

var endpointForm = regexp.MustCompile(
	`^([A-Za-z][A-Za-z0-9+.-]*://[\x21-\x7E]+|(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):[0-9]{1,5})$`)

// IsDialable reports whether a text is host:port or a URL that players could dial: its host is no address that stands
// for all or many hosts, and its port exists.
func IsDialable(text string) bool {
	if len(text) > MaxBytes || !endpointForm.MatchString(text) {
		return false
	}
	// url.Parse needs a scheme to find host and port.
	if !strings.Contains(text, "://") {
		text = "udp://" + text
	}
	u, err := url.Parse(text)
	return err == nil && HasHost(u) && IsDialableHost(u.Hostname())
}

// HasHost reports whether a URL has a host, and no port that does not exist. [url.Parse] takes any number for a port.
func HasHost(u *url.URL) bool { return u.Hostname() != "" && (u.Port() == "" || isPort(u.Port())) }

func isPort(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n >= 1 && n <= 65535
}

// IsDialableHost reports whether a name or an address, without brackets, could be that of one host.
func IsDialableHost(host string) bool {
	// Judged as an address: resolvers also take 0 and 127.1 for one, which ParseAddr refuses.
	if strings.Trim(host, "0123456789.") == "" || strings.Contains(host, ":") {
		addr, err := netip.ParseAddr(host)
		addr = addr.Unmap()
		return err == nil && !addr.IsUnspecified() && !addr.IsMulticast() && addr != broadcast
	}
	return true
}

var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})

// IsDialableAddress reports whether a text is an IP address and a port that players could dial, which netcode connect
// tokens need.
func IsDialableAddress(text string) bool {
	_, err := netip.ParseAddrPort(text)
	return err == nil && IsDialable(text)
}
