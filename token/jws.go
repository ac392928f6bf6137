package token

import (
	"encoding/base64"
	"errors"
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

// memberReader refuses parameters that carry a key (jwk, jku, x5c, x5u), because keys come from configuration only, and
// those that change what the signature covers or need an extension (b64, crit). Others, such as typ and thumbprints,
// are ignored.
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
