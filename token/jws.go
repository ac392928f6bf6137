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
	header      header
	signedBytes []byte // header and payload as received
	payloadJSON []byte
	signature   []byte
}

// header holds the parameters of a JOSE header that are used.
type header struct{ algorithm, keyID text }

// memberReader refuses parameters that carry a key (jwk, jku, x5c, x5u), because keys come from configuration only, and those
// that change what the signature covers or need an extension (b64, crit). Others, such as typ and thumbprints, are
// ignored.
func (h *header) memberReader(name string) member {
	switch name {
	case "alg":
		return &h.algorithm
	case "kid":
		return &h.keyID
	case "jwk", "jku", "x5c", "x5u", "crit", "b64":
		return refused{}
	}
	return nil
}

// splitToken parses a token. It does not accept the JSON serializations, which can hold several signatures.
func splitToken(raw string) (c compact, err error) {
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
	c.signedBytes, c.payloadJSON, c.signature = token[:last], all[len(head):len(payload)], all[len(payload):]
	return c, c.header.parseJSON(head)
}

func (h *header) parseJSON(raw []byte) error {
	err := readObject(raw, h.memberReader)
	switch {
	case errors.Is(err, Malformed):
		return err
	case err != nil, !h.algorithm.isSet, h.keyID.isSet && h.keyID.stringValue == "":
		return BadHeader
	}
	return nil
}

// policy is what a verifier requires of a header.
type policy struct {
	allowedAlgs []string
	needKID     bool
	allowsLarge bool // tokens may have up to maxLoginBytes, not MaxTokenBytes
}

// maxLoginBytes bounds an ID token, which may list hundreds of groups.
const maxLoginBytes = 256 << 10

func (p policy) admitsSize(raw string) bool {
	return len(raw) <= MaxTokenBytes || p.allowsLarge && len(raw) <= maxLoginBytes
}

// verifiedPayload returns the payload of a token with a valid signature, and the key set that verified it. It looks the key up
// by kid; an unknown kid has the set read again, at the rate that keys allows. It compares the header's alg with the
// policy and with the key before it verifies the signature.
func (p policy) verifiedPayload(ctx context.Context, raw string, keys *KeySource) ([]byte, *KeySet, error) {
	if !p.admitsSize(raw) {
		return nil, nil, TooLarge
	}
	c, err := splitToken(raw)
	switch {
	case err != nil:
		return nil, nil, err
	case !slices.Contains(p.allowedAlgs, c.header.algorithm.stringValue):
		return nil, nil, AlgNotAllowed
	case p.needKID && !c.header.keyID.isSet:
		return nil, nil, UnknownKey
	}
	set, key, err := lookUp(ctx, keys, c.header)
	if err != nil {
		return nil, nil, err
	}
	if !key.verifySignature(c.header.algorithm.stringValue, c.signedBytes, c.signature) {
		return nil, nil, BadSignature
	}
	return c.payloadJSON, set, nil
}

// VerifySignature returns the payload of a token that a key of the source has signed, with an algorithm that the source
// allows. It checks no claim: that is the caller's. It has the form that verifiers of OpenID Connect ask for. The error
// is an Invalid, or ErrKeysUnavailable.
func (s *KeySource) VerifySignature(ctx context.Context, raw string) ([]byte, error) {
	payload, _, err := policy{allowedAlgs: s.opt.Algs, allowsLarge: true}.verifiedPayload(ctx, raw, s)
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
	if set, err = keys.readAgain(ctx); err != nil {
		return nil, nil, err
	}
	key, err = set.find(h)
	return set, key, err
}
