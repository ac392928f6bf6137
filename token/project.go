package token

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxProjectTokenBytes bounds a project's token.
	MaxProjectTokenBytes = 4 << 10
	// MaxProjectNameBytes bounds the id of a project and that of a key.
	MaxProjectNameBytes = 128
	// ProjectLeeway is by how much the clocks of the issuer and of the database may differ.
	ProjectLeeway = 5 * time.Second
)

// ProjectRefusal is the reason why a project's token is refused. Its text names no part of the token and may be sent to
// the client. Compare with errors.Is.
type ProjectRefusal string

// The reasons, with the texts of Nexis' handshake.
const (
	ProjectTokenMissing   ProjectRefusal = "missing token"
	ProjectTokenMalformed ProjectRefusal = "invalid token format"
	ProjectTokenForged    ProjectRefusal = "invalid signature"
	ProjectTokenExpired   ProjectRefusal = "token expired"
)

// Error implements error.
func (r ProjectRefusal) Error() string { return "token verification failed: " + string(r) }

// ProjectClaims holds the claims of a project's token, with which a client of the realtime lobby connects. A token
// holds times in milliseconds, truncated.
type ProjectClaims struct {
	ProjectID string    // project_id: 1 to MaxProjectNameBytes bytes; see ValidProjectName
	IssuedAt  time.Time // issued_at
	Expires   time.Time // expires_at
	KeyID     string    // key_id: the key for which the token was minted; "" is none
	Audience  string    // aud: at most MaxSubjectBytes, for the application; VerifyProject ignores it
	Subject   string    // sub: the player, see ValidSubject; "" is none
}

// projectJSON is the payload, in the order of its members.
type projectJSON struct {
	ProjectID string `json:"project_id"`
	IssuedAt  string `json:"issued_at"`
	Expires   string `json:"expires_at"`
	KeyID     string `json:"key_id,omitempty"`
	Audience  string `json:"aud,omitempty"`
	Subject   string `json:"sub,omitempty"`
}

// projectTime is the format of JavaScript's Date.toISOString.
const projectTime = "2006-01-02T15:04:05.000Z"

// JSON returns the payload of the token of these claims. Like JavaScript's, it does not escape HTML.
func (c ProjectClaims) JSON() []byte {
	var payload bytes.Buffer
	enc := json.NewEncoder(&payload)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(projectJSON{ // strings always encode
		ProjectID: c.ProjectID, IssuedAt: c.IssuedAt.UTC().Format(projectTime),
		Expires: c.Expires.UTC().Format(projectTime),
		KeyID:   c.KeyID, Audience: c.Audience, Subject: c.Subject,
	})
	return bytes.TrimSuffix(payload.Bytes(), []byte("\n"))
}

// ValidProjectName reports whether a text may be the id of a project or of a key: 1 to MaxProjectNameBytes bytes of
// UTF-8 without white space, control characters and U+FFFD.
func ValidProjectName(id string) bool {
	invalid := func(r rune) bool { return r == utf8.RuneError || unicode.IsSpace(r) || unicode.IsControl(r) }
	return id != "" && len(id) <= MaxProjectNameBytes && !strings.ContainsFunc(id, invalid)
}

// ProjectSecret returns the secret that signs the tokens of a project where none is configured: a function of the
// master secret and the project's id. The text itself is the key of the HMAC.
func ProjectSecret(master, project string) string {
	return base64.RawURLEncoding.EncodeToString(signProject(master, "nexis.project."+project))
}

// MintProject returns a token with these claims: base64url(claims) + "." + base64url(HMAC-SHA256(secret,
// base64url(claims))).
func MintProject(secret string, c ProjectClaims) string {
	payload := base64.RawURLEncoding.EncodeToString(c.JSON())
	return payload + "." + base64.RawURLEncoding.EncodeToString(signProject(secret, payload))
}

// VerifyProject returns the claims of a token that one of the secrets of its project signed and that has not expired at
// now. secrets gets the project's id and the key's, "" if the token names none, both before the signature is verified.
// It takes the same time whichever byte of the signature is wrong. Errors: a ProjectRefusal; those of secrets.
func VerifyProject(token string, secrets func(projectID, keyID string) ([]string, error),
	now time.Time) (ProjectClaims, error) {
	if token == "" {
		return ProjectClaims{}, ProjectTokenMissing
	}
	payload, signature, found := strings.Cut(token, ".")
	if !found || len(token) > MaxProjectTokenBytes {
		return ProjectClaims{}, ProjectTokenMalformed
	}
	mac, err := projectEncoding.DecodeString(signature)
	if err != nil || len(mac) != sha256.Size {
		return ProjectClaims{}, ProjectTokenMalformed
	}
	claims, err := parseProject(payload)
	if err != nil {
		return ProjectClaims{}, err
	}
	known, err := secrets(claims.ProjectID, claims.KeyID)
	switch {
	case err != nil:
		return ProjectClaims{}, err
	case !signedByOne(known, payload, mac):
		return ProjectClaims{}, ProjectTokenForged
	case !now.Before(claims.Expires.Add(ProjectLeeway)):
		return ProjectClaims{}, ProjectTokenExpired
	}
	return claims, nil
}

// projectEncoding refuses bits after the last byte, with which one signature would have several texts.
var projectEncoding = base64.RawURLEncoding.Strict()

func signProject(secret, text string) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = mac.Write([]byte(text)) // a hash never fails
	return mac.Sum(nil)
}

// signedByOne tries all secrets, so that the time does not depend on which of them signed. An empty secret signs
// nothing.
func signedByOne(secrets []string, payload string, mac []byte) (signed bool) {
	for _, secret := range secrets {
		if hmac.Equal(signProject(secret, payload), mac) && secret != "" {
			signed = true
		}
	}
	return signed
}

func parseProject(payload string) (ProjectClaims, error) {
	raw, err := projectEncoding.DecodeString(payload)
	if err != nil {
		return ProjectClaims{}, ProjectTokenMalformed
	}
	var m projectMembers
	if readObject(raw, m.memberReader) != nil {
		return ProjectClaims{}, ProjectTokenMalformed
	}
	return m.asClaims()
}

// projectMembers holds the destinations of the members of a payload. The audience is not among them: any value is
// accepted.
type projectMembers struct {
	projectID, issuedAt, expiresAt text
	keyID, subject                 optionalText
}

func (m *projectMembers) memberReader(name string) member {
	switch name {
	case "project_id":
		return &m.projectID
	case "issued_at":
		return &m.issuedAt
	case "expires_at":
		return &m.expiresAt
	case "key_id":
		return &m.keyID
	case "sub":
		return &m.subject
	}
	return nil
}

func (m *projectMembers) asClaims() (ProjectClaims, error) {
	issued, notIssued := time.Parse(time.RFC3339Nano, m.issuedAt.stringValue)
	expires, notExpires := time.Parse(time.RFC3339Nano, m.expiresAt.stringValue)
	c := ProjectClaims{ProjectID: m.projectID.stringValue, IssuedAt: issued.UTC(), Expires: expires.UTC(),
		KeyID:   m.keyID.text.stringValue,
		Subject: m.subject.text.stringValue}
	if notIssued != nil || notExpires != nil || !ValidProjectName(c.ProjectID) ||
		m.keyID.text.isSet && !ValidProjectName(c.KeyID) || m.subject.text.isSet && !ValidSubject(c.Subject) {
		return ProjectClaims{}, ProjectTokenMalformed
	}
	return c, nil
}

// optionalText is a string member that may also be null, which counts as absent.
type optionalText struct {
	text   text
	isNull bool
}

func (t *optionalText) readValue(value string) bool {
	if t.isNull {
		return false
	}
	if value == "null" {
		t.isNull = true
		return !t.text.isSet
	}
	return t.text.readValue(value)
}
