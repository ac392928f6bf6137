package netcode

import (
	"fmt"
	"math"
	"net/netip"
	"time"
)

// Limits of a token.
const (
	MaxAddrs      = 32  // addresses in each list
	UserDataBytes = 256 // of user data; shorter data is padded with zeros
)

// maxUnix is the last second of the year 9999. Later times are refused.
const maxUnix = 253402300799

// FieldError names the wrong field of a token. Its text contains no secret.
type FieldError struct {
	// dialect, key, size, version, protocol_id, created, expires, timeout, client_id, public, private, user_data,
	// connection_keys, padding
	Field  string
	Reason string
}

// Error implements error.
func (e FieldError) Error() string { return "netcode token: " + e.Field + ": " + e.Reason }

// Public is what the holder of a token can read without the server's key. Only ProtocolID and Expires are
// authenticated.
type Public struct {
	ProtocolID uint64    // of the game version: client and server must agree
	Created    time.Time // in whole seconds
	Expires    time.Time // in whole seconds, after Created. The zero time in a token that was read means never
	// Timeout is the time without a packet after which a connection ends, in whole seconds. Negative means that there
	// is no timeout.
	Timeout time.Duration
	Addrs   []netip.AddrPort // the addresses that the client dials, in order; 1 to MaxAddrs
}

// Claims is what a token says.
type Claims struct {
	Public   Public
	ClientID uint64           // not zero
	Private  []netip.AddrPort // the addresses at which a server accepts the token; 1 to MaxAddrs. See [PrivateList]
	UserData []byte           // at most UserDataBytes; exactly UserDataBytes in a token that was read
}

// PrivateList returns the private list of a server: the address that players dial, and the unspecified address (0.0.0.0
// or ::) with the port that the server binds, because a server behind NAT does not know the address that players dial.
// An internalPort of 0 means that the server binds the dialled address.
func PrivateList(dialled netip.AddrPort, internalPort uint16) []netip.AddrPort {
	list := []netip.AddrPort{dialled}
	anywhere := netip.IPv4Unspecified()
	if dialled.Addr().Unmap().Is6() {
		anywhere = netip.IPv6Unspecified()
	}
	if bound := netip.AddrPortFrom(anywhere, internalPort); internalPort != 0 && bound != dialled {
		list = append(list, bound)
	}
	return list
}

// normalize checks the claims and returns them in the form in which they are written. Errors: [FieldError].
func (c Claims) normalize() (Claims, error) {
	var err error
	if c.Public.Addrs, err = normalizeAddrs("public", c.Public.Addrs); err != nil {
		return c, err
	}
	if c.Private, err = normalizeAddrs("private", c.Private); err != nil {
		return c, err
	}
	for _, a := range c.Public.Addrs {
		if a.Addr().IsUnspecified() {
			return c, FieldError{"public", fmt.Sprintf("%s is unspecified: no client can dial it", a)}
		}
	}
	if c.ClientID == 0 {
		return c, FieldError{"client_id", "is zero"}
	}
	if len(c.UserData) > UserDataBytes {
		return c, FieldError{"user_data",
			fmt.Sprintf("has %d bytes, at most %d are allowed", len(c.UserData), UserDataBytes)}
	}
	return c, c.checkTimes()
}

func (c Claims) checkTimes() error {
	created, expires := c.Public.Created.Unix(), c.Public.Expires.Unix()
	switch {
	case created < 0 || created > maxUnix:
		return FieldError{"created", "is before 1970 or after the year 9999"}
	case c.Public.Expires.IsZero() || expires > maxUnix:
		return FieldError{"expires", "is zero or after the year 9999"}
	case expires <= created:
		return FieldError{"expires", "is not after created"} // in whole seconds: a token must be valid for at least one
	case c.Public.Timeout == 0 || c.Public.Timeout%time.Second != 0:
		return FieldError{"timeout", fmt.Sprintf("is %s: it must be whole seconds, and not zero", c.Public.Timeout)}
	case c.Public.Timeout/time.Second > math.MaxInt32:
		return FieldError{"timeout", fmt.Sprintf("is %s: it must fit 32 bits, in seconds", c.Public.Timeout)}
	default:
		return nil
	}
}

// normalizeAddrs checks a list of addresses and returns it with IPv4-mapped IPv6 addresses converted to IPv4.
func normalizeAddrs(field string, list []netip.AddrPort) ([]netip.AddrPort, error) {
	if len(list) == 0 || len(list) > MaxAddrs {
		return nil, FieldError{field, fmt.Sprintf("has %d addresses, 1 to %d are allowed", len(list), MaxAddrs)}
	}
	plain := make([]netip.AddrPort, len(list))
	for i, a := range list {
		if !a.IsValid() || a.Port() == 0 || a.Addr().Zone() != "" {
			return nil, FieldError{field,
				fmt.Sprintf("address %d of %d, %s, is not an IP address with a port", i+1, len(list), a)}
		}
		plain[i] = netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
	}
	return plain, nil
}
