package token

import "errors"

// Invalid is the reason why a token is refused. Its value is a stable, machine-readable code that reveals nothing of
// the token, so it may be sent to the caller. Compare with errors.Is(err, token.Expired), or get the code with
// errors.As.
type Invalid string

// The reasons. Those about claims are returned only for tokens with a valid signature.
const (
	TooLarge      Invalid = "too_large"       // longer than MaxTokenBytes
	Malformed     Invalid = "malformed"       // not a compact JWS holding a JSON object
	BadHeader     Invalid = "bad_header"      // a header parameter missing, repeated, of the wrong type or refused
	AlgNotAllowed Invalid = "alg_not_allowed" // alg outside the allow-list, "none" and HMAC among them
	UnknownKey    Invalid = "unknown_key"     // kid not in the key set, or absent although several keys fit
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

// ErrKeysUnavailable means that a token could not be verified because no key set could be read yet. This is no error of
// the caller: answer 503 and not 401.
var ErrKeysUnavailable = errors.New("no verification keys could be read yet")
