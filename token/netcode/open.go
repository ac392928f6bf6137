package netcode

import (
	"bytes"
	"crypto/subtle"
	"fmt"
	"math"
	"net/netip"
	"time"
)

// Parse reads the public part of a token, strictly: a byte that no minter of the dialect writes is an error. Nothing is
// verified. Errors: [FieldError].
func Parse(raw []byte, d Dialect) (Public, error) {
	c, err := d.newCodec()
	if err != nil {
		return Public{}, err
	}
	p, _, err := c.readPublic(raw)
	return p, err
}

// Open does what a game server does with a token at the time now: it checks the size, version, protocol id and expiry,
// decrypts the private part, and reads it, strictly. Beyond that it checks that both parts hold the same keys of the
// connection and the same timeout. The caller compares the private list with the addresses of the server. Errors:
// [FieldError].
func (m *Minter) Open(raw []byte, protocolID uint64, now time.Time) (Claims, error) {
	p, keys, err := m.codec.readPublic(raw)
	if err != nil {
		return Claims{}, err
	}
	if p.ProtocolID != protocolID {
		return Claims{}, FieldError{"protocol_id", fmt.Sprintf("is %d, not %d", p.ProtocolID, protocolID)}
	}
	if !p.Expires.IsZero() && !now.Before(p.Expires) {
		return Claims{}, FieldError{"expires", "is past"}
	}
	plain, err := m.aead.Open(nil, raw[atNonce:atPrivate], raw[atPrivate:atTimeout],
		associatedData((*[TokenBytes]byte)(raw)))
	if err != nil {
		return Claims{}, FieldError{"private", "does not decrypt: the key is another one, or the token was changed"}
	}
	return m.codec.readPrivate(Claims{Public: p}, keys, plain)
}

// readPublic returns the public part and the two keys of the connection.
func (c codec) readPublic(raw []byte) (p Public, keys []byte, err error) {
	if len(raw) != TokenBytes {
		return p, nil, FieldError{"size", fmt.Sprintf("%d bytes, not %d", len(raw), TokenBytes)}
	}
	if string(raw[:len(version)]) != version {
		return p, nil, FieldError{"version", "is not NETCODE 1.02"}
	}
	p.ProtocolID = c.byteOrder.Uint64(raw[atProtocol:])
	if p.Created, p.Expires, err = c.readTimes(raw); err != nil {
		return p, nil, err
	}
	r := reader{codec: c, restBytes: raw[atTimeout:]}
	p.Timeout = r.readTimeout()
	p.Addrs = r.readAddrs("public")
	keys = r.takeBytes("connection_keys", 2*KeyBytes)
	return p, keys, r.expectEnd()
}

func (c codec) readTimes(raw []byte) (created, expires time.Time, err error) {
	from, until := c.byteOrder.Uint64(raw[atCreated:]), c.byteOrder.Uint64(raw[atExpires:])
	switch {
	case from > maxUnix:
		return created, expires, FieldError{"created", "is after the year 9999: the token may be of another dialect"}
	case until == math.MaxUint64:
		return time.Unix(int64(from), 0), expires, nil
	case until > maxUnix:
		return created, expires, FieldError{"expires", "is after the year 9999: the token may be of another dialect"}
	case from > until:
		return created, expires, FieldError{"expires", "is before created"}
	default:
		return time.Unix(int64(from), 0), time.Unix(int64(until), 0), nil
	}
}

// readPrivate adds the decrypted part to the claims.
func (c codec) readPrivate(claims Claims, keys, plain []byte) (Claims, error) {
	r := reader{codec: c, restBytes: plain}
	if id := r.takeBytes("client_id", 8); id != nil {
		claims.ClientID = c.byteOrder.Uint64(id)
	}
	timeout := r.readTimeout()
	claims.Private = r.readAddrs("private")
	same := subtle.ConstantTimeCompare(r.takeBytes("connection_keys", 2*KeyBytes), keys) == 1
	claims.UserData = r.takeBytes("user_data", UserDataBytes)
	err := r.expectEnd()
	switch {
	case err != nil:
		return Claims{}, err
	case timeout != claims.Public.Timeout:
		return Claims{}, FieldError{"timeout", "differs in the public and the private part"}
	case !same:
		return Claims{}, FieldError{"connection_keys", "differ in the public and the private part"}
	default:
		return claims, nil
	}
}

// reader reads fields in turn. After an error it reads nothing more and keeps that error.
type reader struct {
	codec     codec
	restBytes []byte
	err       error
}

// takeBytes returns the next n bytes, or nil.
func (r *reader) takeBytes(field string, n int) []byte {
	if r.err == nil && len(r.restBytes) < n {
		r.err = FieldError{field, "is cut off"}
	}
	if r.err != nil {
		return nil
	}
	var b []byte
	b, r.restBytes = r.restBytes[:n:n], r.restBytes[n:]
	return b
}

func (r *reader) readTimeout() time.Duration {
	b := r.takeBytes("timeout", 4)
	if b == nil {
		return 0
	}
	return time.Duration(int32(r.codec.byteOrder.Uint32(b))) * time.Second
}

func (r *reader) readAddrs(field string) []netip.AddrPort {
	b := r.takeBytes(field, 4)
	if b == nil {
		return nil
	}
	n := r.codec.byteOrder.Uint32(b)
	if n == 0 || n > MaxAddrs {
		r.err = FieldError{field, fmt.Sprintf("has %d addresses, 1 to %d are allowed", n, MaxAddrs)}
		return nil
	}
	list := make([]netip.AddrPort, n)
	for i := range list {
		list[i] = r.readAddr(field)
	}
	return list
}

func (r *reader) readAddr(field string) netip.AddrPort {
	var ip netip.Addr
	switch kind := r.takeBytes(field, 1); {
	case kind == nil:
		return netip.AddrPort{}
	case kind[0] == typeIPv4:
		ip, _ = netip.AddrFromSlice(r.takeBytes(field, 4))
	case kind[0] == typeIPv6:
		if b := r.takeBytes(field, 16); b != nil {
			ip = netip.AddrFrom16(r.codec.swapIPv6([16]byte(b)))
		}
	default:
		r.err = FieldError{field, fmt.Sprintf("has an address of the unknown type %d", kind[0])}
	}
	port := r.takeBytes(field, 2)
	if port == nil {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(ip, r.codec.byteOrder.Uint16(port))
}

// expectEnd checks that only zeros are left.
func (r *reader) expectEnd() error {
	if r.err == nil && len(bytes.Trim(r.restBytes, "\x00")) > 0 {
		r.err = FieldError{"padding", "is not zero"}
	}
	return r.err
}
