package netcode

import (
	"crypto/cipher"
	"crypto/rand"
	"time"

	"golang.org/x/crypto/chacha20poly1305"
)

// version is at the start of a token, and in the authenticated data of its private part.
const version = "NETCODE 1.02\x00"

// The layout. Fields after the public addresses have no fixed offset.
const (
	atProtocol   = len(version)
	atCreated    = atProtocol + 8
	atExpires    = atCreated + 8
	atNonce      = atExpires + 8
	atPrivate    = atNonce + chacha20poly1305.NonceSizeX
	atTimeout    = atPrivate + privateBytes
	privateBytes = 1024
	plainBytes   = privateBytes - chacha20poly1305.Overhead
)

// Minter mints the tokens of one deployment. Safe for concurrent use.
type Minter struct {
	codec codec
	aead  cipher.AEAD
}

// NewMinter returns the minter of a dialect and the key that the game server holds. Errors: [FieldError].
func NewMinter(d Dialect, key Key) (*Minter, error) {
	c, err := d.newCodec()
	if err != nil {
		return nil, err
	}
	aead, err := chacha20poly1305.NewX(key.Secret())
	if err != nil {
		return nil, FieldError{"key", "is the zero Key"}
	}
	return &Minter{c, aead}, nil
}

// Mint returns a token with a fresh nonce and fresh keys of the connection. Times are cut to whole seconds, IPv4
// addresses that are mapped into IPv6 are written as IPv4. Errors: [FieldError], and no token.
func (m *Minter) Mint(claims Claims) (Token, error) {
	var s salt
	_, _ = rand.Read(s[:]) // never returns an error
	return m.mintWith(claims, &s)
}

// salt is what is random in a token: the nonce and both keys.
type salt [chacha20poly1305.NonceSizeX + 2*KeyBytes]byte

func (s *salt) nonceBytes() []byte { return s[:chacha20poly1305.NonceSizeX] }
func (s *salt) keyBytes() []byte   { return s[chacha20poly1305.NonceSizeX:] }

func (m *Minter) mintWith(claims Claims, s *salt) (Token, error) {
	claims, err := claims.normalize()
	if err != nil {
		return Token{}, err
	}
	order := m.codec.byteOrder
	raw := new([TokenBytes]byte)
	b := raw[:0]
	b = append(b, version...)
	b = order.AppendUint64(b, claims.Public.ProtocolID)
	b = order.AppendUint64(b, uint64(claims.Public.Created.Unix()))
	b = order.AppendUint64(b, uint64(claims.Public.Expires.Unix()))
	b = append(b, s.nonceBytes()...)
	b = m.aead.Seal(b, s.nonceBytes(), m.encodePrivate(claims, s), associatedData(raw))
	b = order.AppendUint32(b, timeoutSeconds(claims.Public.Timeout))
	b = m.codec.appendAddrs(b, claims.Public.Addrs)
	_ = append(b, s.keyBytes()...) // writes into raw, which is large enough for 32 IPv6 addresses; the rest stays zero
	return Token{&box[[TokenBytes]byte]{raw}}, nil
}

// encodePrivate returns the private part before encryption.
func (m *Minter) encodePrivate(claims Claims, s *salt) []byte {
	order := m.codec.byteOrder
	b := make([]byte, 0, plainBytes)
	b = order.AppendUint64(b, claims.ClientID)
	b = order.AppendUint32(b, timeoutSeconds(claims.Public.Timeout))
	b = m.codec.appendAddrs(b, claims.Private)
	b = append(b, s.keyBytes()...)
	b = append(b, claims.UserData...)
	return b[:plainBytes]
}

// timeoutSeconds returns the signed number of a timeout in two's complement; negative timeouts are all the same.
func timeoutSeconds(timeout time.Duration) uint32 { return uint32(int32(max(timeout/time.Second, -1))) }

// associatedData returns the associated data of the private part: version, protocol id and time of expiry.
func associatedData(raw *[TokenBytes]byte) []byte {
	data := make([]byte, 0, atCreated+8)
	data = append(data, raw[:atCreated]...)
	return append(data, raw[atExpires:atNonce]...)
}
