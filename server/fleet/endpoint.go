package fleet

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/lattice-director/director/server/rest"
)

// writtenEndpoint is the form of an endpoint.
var writtenEndpoint = matching(255, "", `^([A-Za-z][A-Za-z0-9+.-]*://[\x21-\x7E]+|(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):[0-9]{1,5})$`)

// endpoint is the format of what players dial.
var endpoint = rest.Format{
	Allowed: "what players dial, not what the server binds: host:port ([host]:port for IPv6) or a URL, up to 255 characters, with a port from 1 to 65535",
	Valid:   func(s string) bool { return writtenEndpoint.Valid(s) && dialable(s) },
}

// dialable reports whether players could dial an endpoint, whose form is valid: its host is no address that stands for all or many
// hosts, and its port exists.
func dialable(endpoint string) bool {
	u, err := url.Parse(endpoint)
	if !strings.Contains(endpoint, "://") {
		u, err = url.Parse("udp://" + endpoint)
	}
	if err != nil || u.Hostname() == "" {
		return false
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return false
		}
	}
	return dialableHost(u.Hostname())
}

func dialableHost(host string) bool {
	if strings.Trim(host, "0123456789.") == "" || strings.Contains(host, ":") { // an address; systems read 0 and 127.1 as one, too
		addr, err := netip.ParseAddr(host)
		addr = addr.Unmap()
		return err == nil && !addr.IsUnspecified() && !addr.IsMulticast() && addr != broadcast
	}
	return true
}

var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})
