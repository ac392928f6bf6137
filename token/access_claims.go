package token

import "strings"

// Claims are the claims of an access token that was verified. They are read again from the token, since only few calls
// need more of them than the sub.
type Claims struct{ payload []byte }

// ReadClaims returns the claims of an access token. It verifies nothing: the token must be one that
// [AccessVerifier.Verify] has just accepted. Errors: Malformed.
func ReadClaims(verified string) (Claims, error) {
	_, rest, _ := strings.Cut(verified, ".")
	encoded, _, isSigned := strings.Cut(rest, ".")
	payload, err := b64.DecodeString(encoded)
	if err != nil || !isSigned {
		return Claims{}, Malformed
	}
	return Claims{payload}, nil
}

// At returns the JSON text of a claim; path are the names of the objects that hold it, and then its own. found is false
// where there is no such claim. Errors: BadClaim where a name of the path is in its object twice, since parsers
// disagree on which of the two counts, or something on the way is no object.
func (c Claims) At(path ...string) (json string, found bool, err error) {
	object := c.payload
	for i, name := range path {
		var value jsonText
		err := readObject(object, func(n string) member {
			if n == name {
				return &value
			}
			return nil
		})
		switch {
		case err != nil:
			return "", false, BadClaim
		case !value.isSet:
			return "", false, nil
		case i == len(path)-1:
			return value.rawJSON, true, nil
		}
		object = []byte(value.rawJSON)
	}
	return "", false, nil
}

// jsonText is a member of any type.
type jsonText struct {
	rawJSON string
	isSet   bool
}

func (t *jsonText) readValue(json string) bool {
	if t.isSet {
		return false
	}
	t.rawJSON, t.isSet = json, true
	return true
}
