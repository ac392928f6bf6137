package token

import "errors"

// Invalid says why a token is refused. Its value is a stable, machine-readable word that says nothing about what
// the token holds, so it may be shown to whoever sent it. Compare with errors.Is(err, token.Expired), or take the word
// with errors.As into an Invalid.
type Invalid string

// The reasons. Those about claims are given only for tokens whose signature was genuine.
const (
	TooLarge      Invalid = "too_large"       // longer than MaxTokenBytes
	Malformed     Invalid = "malformed"       // not a compact JWS holding a JSON object
	BadHeader     Invalid = "bad_header"      // a header parameter missing, repeated, of the wrong type or refused
	AlgNotAllowed Invalid = "alg_not_allowed" // alg outside the allow-list, "none" and HMAC among them
	UnknownKey    Invalid = "unknown_key"     // kid not in the key set, or absent where it does not name one key
	WrongAlg      Invalid = "wrong_alg"       // the key named by kid is not for this alg
	BadSignature  Invalid = "bad_signature"   // the signature does not verify
	MissingClaim  Invalid = "missing_claim"   // a required claim is absent
	BadClaim      Invalid = "bad_claim"       // a claim repeated, of the wrong type or outside its limits
	Expired       Invalid = "expired"         // exp is past
	NotYetValid   Invalid = "not_yet_valid"   // nbf or iat is in the future
	WrongIssuer   Invalid = "wrong_issuer"    // iss is not the configured one
	WrongAudience Invalid = "wrong_audience"  // aud does not hold the configured one
)

// Error implements error.
func (i Invalid) Error() string { return "token refused: " + string(i) }

// ErrKeysUnavailable means that a token could not be judged, because no key set could be read yet. It is the
// verifier's trouble, not the caller's: answer 503 rather than 401.
var ErrKeysUnavailable = errors.New("no verification keys could be read yet")
