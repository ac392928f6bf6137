package token

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
)

// MaxTokenBytes bounds every token, signed or verified here. Those of identity providers are 0.5 to 3 KiB.
const MaxTokenBytes = 8 << 10

// b64 is the encoding of RFC 7515 section 2. Strict refuses stray bits at the end, with which one signature could be
// written in several ways.
var b64 = base64.RawURLEncoding.Strict()

// compact is a token in JWS compact serialization (RFC 7515 section 7.1), taken apart and not yet verified.
type compact struct {
	header    header
	signed    []byte // header and payload as they were sent
	payload   []byte
	signature []byte
}

// header holds what counts of a JOSE header.
type header struct{ alg, kid text }

// member refuses parameters that bring a key along (jwk, jku, x5c, x5u), since keys come from configuration alone, and
// those that change what the signature covers or that must be understood (b64, crit). Thumbprints, typ and cty say
// nothing we rely on.
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

// split takes a token apart. The JSON serializations, which can carry several signatures, do not parse here.
func split(raw string) (c compact, err error) {
	if len(raw) > MaxTokenBytes {
		return c, TooLarge
	}
	if strings.ContainsAny(raw, "\r\n") { // the base64 decoder would skip them
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

// policy is what a verifier asks of a header.
type policy struct {
	algs    []string
	needKID bool
}

// verified answers the payload of a token whose signature is genuine, and the key set that says so. The key is looked
// up by kid in keys; a kid that is not there asks for the set again, as often as keys allows. The header's alg is
// compared with the policy and with the key before anything is verified.
func (p policy) verified(ctx context.Context, raw string, keys *KeySource) ([]byte, *KeySet, error) {
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
	if !key.verify(c.signed, c.signature) {
		return nil, nil, BadSignature
	}
	return c.payload, set, nil
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
	if set, err = keys.again(ctx); err != nil {
		return nil, nil, err
	}
	key, err = set.find(h)
	return set, key, err
}
