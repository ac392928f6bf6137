package token

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
)

// MaxTokenBytes bounds every token that is signed or verified. Identity providers issue tokens of 0.5 to 3 KiB.
const MaxTokenBytes = 8 << 10

// b64 is the encoding of RFC 7515 section 2. Strict refuses non-zero padding bits, which would allow several encodings
// of one signature.
var b64 = base64.RawURLEncoding.Strict()

// compact is a parsed but not yet verified token in JWS compact serialization (RFC 7515 section 7.1).
type compact struct {
	header    header
	signed    []byte // header and payload as received
	payload   []byte
	signature []byte
}

// header holds the parameters of a JOSE header that are used.
type header struct{ alg, kid text }

// member refuses parameters that carry a key (jwk, jku, x5c, x5u), because keys come from configuration only, and those
// that change what the signature covers or need an extension (b64, crit). Others, such as typ and thumbprints, are
// ignored.
func (h *header) member(name string) member {
	switch name {
	case "alg":
		return &h.alg
	case "kid":
		return &h.kid
	case "jwk", "jku", "x5c", "x5u", "crit", "b64":
		return refused{}
	}
	return nil
}

// split parses a token. It does not accept the JSON serializations, which can hold several signatures.
func split(raw string) (c compact, err error) {
	if strings.ContainsAny(raw, "\r\n") { // The base64 decoder would skip them.
		return c, Malformed
	}
	dot, last := strings.IndexByte(raw, '.'), strings.LastIndexByte(raw, '.')
	if dot == last {
		return c, Malformed
	}
	token := []byte(raw)
	decoded := make([]byte, 0, len(raw))
	head, err1 := b64.AppendDecode(decoded, token[:dot])
	payload, err2 := b64.AppendDecode(head, token[dot+1:last])
	all, err3 := b64.AppendDecode(payload, token[last+1:])
	if err1 != nil || err2 != nil || err3 != nil {
		return c, Malformed
	}
	c.signed, c.payload, c.signature = token[:last], all[len(head):len(payload)], all[len(payload):]
	return c, c.header.parse(head)
}

func (h *header) parse(raw []byte) error {
	err := readObject(raw, h.member)
	switch {
	case errors.Is(err, Malformed):
		return err
	case err != nil, !h.alg.set, h.kid.set && h.kid.value == "":
		return BadHeader
	}
	return nil
}

// policy is what a verifier requires of a header.
type policy struct {
	algs    []string
	needKID bool
	large   bool // tokens may have up to maxLoginBytes, not MaxTokenBytes
}

// maxLoginBytes bounds an ID token, which may list hundreds of groups.
const maxLoginBytes = 256 << 10

func (p policy) admits(raw string) bool {
	return len(raw) <= MaxTokenBytes || p.large && len(raw) <= maxLoginBytes
}

// verified returns the payload of a token with a valid signature, and the key set that verified it. It looks the key up
// by kid; an unknown kid has the set read again, at the rate that keys allows. It compares the header's alg with the
// policy and with the key before it verifies the signature.
func (p policy) verified(ctx context.Context, raw string, keys *KeySource) ([]byte, *KeySet, error) {
	if !p.admits(raw) {
		return nil, nil, TooLarge
	}
	c, err := split(raw)
	switch {
	case err != nil:
		return nil, nil, err
	case !slices.Contains(p.algs, c.header.alg.value):
		return nil, nil, AlgNotAllowed
	case p.needKID && !c.header.kid.set:
		return nil, nil, UnknownKey
	}
	set, key, err := lookUp(ctx, keys, c.header)
	if err != nil {
		return nil, nil, err
	}
	if !key.verify(c.header.alg.value, c.signed, c.signature) {
		return nil, nil, BadSignature
	}
	return c.payload, set, nil
}

// VerifySignature returns the payload of a token that a key of the source has signed, with an algorithm that the source
// allows. It checks no claim: that is the caller's. It has the form that verifiers of OpenID Connect ask for. The error
// is an Invalid, or ErrKeysUnavailable.
func (s *KeySource) VerifySignature(ctx context.Context, raw string) ([]byte, error) {
	payload, _, err := policy{algs: s.opt.Algs, large: true}.verified(ctx, raw, s)
	return payload, err
}

func lookUp(ctx context.Context, keys *KeySource, h header) (*KeySet, *publicKey, error) {
	set, err := keys.Keys(ctx)
	if err != nil {
		return nil, nil, err
	}
	key, err := set.find(h)
	if !errors.Is(err, UnknownKey) {
		return set, key, err
	}
	if set, err = keys.reread(ctx); err != nil {
		return nil, nil, err
	}
	key, err = set.find(h)
	return set, key, err
}
