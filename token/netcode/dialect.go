package netcode

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
)

// Dialect is the byte order in which an implementation writes integers and addresses. Its value is the word in
// settings.
type Dialect string

// The dialects. All have the same layout and the same version string.
const (
	// Netcode102 is the reference library: little-endian, and the eight groups of an IPv6 address are little-endian,
	// too.
	Netcode102 Dialect = "netcode102"
	// LightyearLE is Lightyear up to 0.19: little-endian, with IPv6 addresses in network order.
	LightyearLE Dialect = "lightyear-le"
	// LightyearBE is Lightyear from 0.20: big-endian, with IPv6 addresses in network order.
	LightyearBE Dialect = "lightyear-be"
)

// Dialects returns all dialects.
func Dialects() []Dialect { return []Dialect{Netcode102, LightyearLE, LightyearBE} }

// ParseDialect reads a dialect from a setting. Errors: [FieldError].
func ParseDialect(word string) (Dialect, error) {
	d := Dialect(word)
	_, err := d.newCodec()
	return d, err
}

// codec writes and reads the integers and addresses of a dialect.
type codec struct {
	byteOrder interface {
		binary.ByteOrder
		binary.AppendByteOrder
	}
	swapGroups bool // the 16-bit groups of an IPv6 address are little-endian
}

func (d Dialect) newCodec() (codec, error) {
	switch d {
	case Netcode102:
		return codec{byteOrder: binary.LittleEndian, swapGroups: true}, nil
	case LightyearLE:
		return codec{byteOrder: binary.LittleEndian}, nil
	case LightyearBE:
		return codec{byteOrder: binary.BigEndian}, nil
	default:
		return codec{}, FieldError{"dialect",
			fmt.Sprintf("%.40q is none of netcode102, lightyear-le, lightyear-be", string(d))}
	}
}

// swapIPv6 converts an IPv6 address between network order and the order of the dialect: swapping is its own inverse.
func (c codec) swapIPv6(b [16]byte) [16]byte {
	if c.swapGroups {
		for group := range slices.Chunk(b[:], 2) {
			slices.Reverse(group)
		}
	}
	return b
}

// The first byte of an address.
const (
	typeIPv4 = 1
	typeIPv6 = 2
)

func (c codec) appendAddrs(b []byte, list []netip.AddrPort) []byte {
	b = c.byteOrder.AppendUint32(b, uint32(len(list)))
	for _, a := range list {
		b = c.appendAddr(b, a)
	}
	return b
}

func (c codec) appendAddr(b []byte, a netip.AddrPort) []byte {
	if a.Addr().Is4() {
		ip := a.Addr().As4()
		b = append(append(b, typeIPv4), ip[:]...)
	} else {
		ip := c.swapIPv6(a.Addr().As16())
		b = append(append(b, typeIPv6), ip[:]...)
	}
	return c.byteOrder.AppendUint16(b, a.Port())
}
