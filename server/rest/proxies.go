package rest

import (
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/internal/base/network"
)

// Proxies are the networks whose X-Forwarded-For is trusted.
type Proxies []netip.Prefix

// ParseProxies parses addresses and networks (CIDRs). Errors: a text is neither.
func ParseProxies(texts []string) (Proxies, error) {
	var p Proxies
	for _, text := range texts {
		trusted, err := network.ParseOrAddress(text)
		if err != nil {
			return nil, err
		}
		p = append(p, trusted)
	}
	return p, nil
}

// texts returns the networks as gin reads them: without zones and notations that only [ParseProxies] takes.
func (p Proxies) texts() []string {
	texts := make([]string, len(p))
	for i, network := range p {
		texts[i] = network.String()
	}
	return texts
}

func (p Proxies) trustsAddr(a netip.Addr) bool {
	return slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(a) })
}

// TrustsPeer reports whether a request comes from a trusted proxy, directly.
func (p Proxies) TrustsPeer(r *http.Request) bool {
	peer, ok := peerOf(r)
	return ok && p.trustsAddr(peer.Addr())
}

// peerOf returns the address of the peer without its zone, since no network contains an address with a zone.
func peerOf(r *http.Request) (netip.AddrPort, bool) {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return netip.AddrPortFrom(peer.Addr().Unmap().WithZone(""), peer.Port()), err == nil
}

// Client returns the address of the caller: the peer, unless it is a trusted proxy; then the last address in
// X-Forwarded-For that is none, or the first one if all are. Where a trusted proxy wrote something else than an
// address, it is that proxy's. The zero Addr means unknown.
func (p Proxies) Client(r *http.Request) netip.Addr {
	client, _, _ := p.clientOf(r)
	return client
}

// clientOf returns the address of the caller, as Client does. If readable is false, a trusted proxy wrote badHop in
// place of an address; it may be empty.
func (p Proxies) clientOf(r *http.Request) (client netip.Addr, badHop string, readable bool) {
	peer, ok := peerOf(r)
	if !ok {
		return netip.Addr{}, "", true
	}
	client = peer.Addr()
	forwarded := r.Header.Values(forwardedFor)
	if len(forwarded) == 0 {
		return client, "", true
	}
	hops := strings.Split(strings.Join(forwarded, ","), ",")
	// The last address counts first: a proxy appends the one that it sees, and the caller may have written all before it.
	for _, hop := range slices.Backward(hops) {
		if !p.trustsAddr(client) {
			break
		}
		before, ok := hopAddress(hop)
		if !ok {
			return client, hop, false
		}
		client = before
	}
	return client, "", true
}

// hopAddress reads an address as proxies write it: alone, in brackets, with a port, or quoted, as in the header
// Forwarded (RFC 7239).
func hopAddress(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	if quoted, ok := strings.CutPrefix(text, `"`); ok {
		text = strings.TrimSuffix(quoted, `"`)
	}
	if withPort, err := netip.ParseAddrPort(text); err == nil {
		return withPort.Addr().Unmap().WithZone(""), true
	}
	if inner, ok := strings.CutPrefix(text, "["); ok && strings.HasSuffix(inner, "]") {
		text = strings.TrimSuffix(inner, "]")
	}
	addr, err := netip.ParseAddr(text)
	return addr.Unmap().WithZone(""), err == nil
}

const forwardedFor = "X-Forwarded-For"

// resolveClient is the middleware that leaves of X-Forwarded-For only the client's address, in the form that gin reads.
// It counts headers that have no address, and logs the first one: while a proxy writes something else, all of its
// callers share one address, with its limits.
func (p Proxies) resolveClient(log *slog.Logger, metrics *Metrics) gin.HandlerFunc {
	var once sync.Once
	return func(c *gin.Context) {
		if peer, ok := peerOf(c.Request); ok {
			c.Request.RemoteAddr = peer.String() // gin reads no address with a zone
		}
		if len(p) == 0 || len(c.Request.Header.Values(forwardedFor)) == 0 {
			return
		}
		client, badHop, readable := p.clientOf(c.Request)
		if !readable {
			if metrics != nil {
				metrics.unreadableClients.Inc()
			}
			once.Do(func() {
				log.LogAttrs(c.Request.Context(), slog.LevelWarn,
					"a trusted proxy sends an X-Forwarded-For that has no address: "+
						"its callers share the proxy's own, and its limits",
					slog.String("value", strings.ToValidUTF8(badHop[:min(len(badHop), 64)], "?")),
					slog.String("proxy", client.String()))
			})
		}
		c.Request.Header.Set(forwardedFor, client.String())
	}
}

// AddressKey returns the prefix by which failures are counted: a /64 for IPv6, because the owner of one address usually
// has the whole /64.
func AddressKey(a netip.Addr) string {
	a = a.WithZone("")
	if network, err := a.Prefix(64); err == nil && a.Is6() {
		return network.String()
	}
	return a.String()
}
