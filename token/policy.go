package token

import (
	"context"
	"errors"
	"slices"
)

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

// verifiedPayload returns the payload of a token with a valid signature, and the key set that verified it. It looks the
// key up by kid; an unknown kid has the set read again, at the rate that keys allows. It compares the header's alg with
// the policy and with the key before it verifies the signature.
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

// VerifySignature returns the payload of a token that a key of the source has signed, with an algorithm that the source
// allows. It checks no claim: that is the caller's. It has the form that verifiers of OpenID Connect ask for. The error
// is an Invalid, or ErrKeysUnavailable.
func (s *KeySource) VerifySignature(ctx context.Context, raw string) ([]byte, error) {
	payload, _, err := policy{allowedAlgs: s.opt.Algs, allowsLarge: true}.verifiedPayload(ctx, raw, s)
	return payload, err
}
