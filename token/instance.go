package token

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"
)

// instancePrefix begins the credential of an instance.
const instancePrefix = "li1."

// MaxInstanceToken is the length of the longest credential of an instance, in bytes.
const MaxInstanceToken = len(instancePrefix) + maxRegionBytes + 1 + uuidBytes + 1 + uuidBytes + 1 + maxInstanceText +
	1 +
	maxSeconds + 1 + macBytes

const (
	maxInstanceID   = 128
	maxInstanceText = (maxInstanceID*8 + 5) / 6 // of base64 without padding
	maxSeconds      = 12                        // digits: 30,000 years
)

// Instance is what the credential of a game server that registered by an enrolment says: which server it is, and until
// when the credential is valid. Credential changes with each enrolment of the instance; a renewal keeps it. The ids of
// the enrolment and of the credential are UUIDs in the usual form, in lower case.
type Instance struct {
	Region, Enrolment, Credential string

	ID        string    // of the instance: 1 to 128 bytes
	ExpiresAt time.Time // to the second
}

// dottedText returns the text of which the credential's MAC is made, with the prefix. Only the id may have a dot, so
// the id is written in base64.
func (i Instance) dottedText() string {
	return strings.Join([]string{instancePrefix + i.Region, i.Enrolment, i.Credential,
		base64.RawURLEncoding.EncodeToString([]byte(i.ID)), strconv.FormatInt(i.ExpiresAt.Unix(), 10)}, ".")
}

// InstanceToken returns li1.<region>.<enrolment>.<credential>.<id in base64>.<expiry in Unix seconds>.<mac>.
func (t *ServerTokens) InstanceToken(i Instance) ServerSecret {
	return ServerSecret(i.dottedText() + "." + t.signText(forInstance, i.dottedText()))
}

// IsInstanceToken reports whether a text claims to be the credential of an instance.
func IsInstanceToken(raw string) bool { return strings.HasPrefix(raw, instancePrefix) }

// VerifyInstance returns what a credential says, and the fingerprint of the key-encryption key that made it. One that
// is false, or made by a key-encryption key that is not configured, is not ok. The caller compares ExpiresAt with the
// database's clock.
func (t *ServerTokens) VerifyInstance(raw string) (i Instance, by string, ok bool) {
	dot := strings.LastIndexByte(raw, '.')
	if !IsInstanceToken(raw) || len(raw) > MaxInstanceToken || dot < len(instancePrefix) {
		return Instance{}, "", false
	}
	if by, ok = t.verifyMAC(forInstance, raw[:dot], raw[dot+1:]); !ok {
		return Instance{}, "", false
	}
	i, ok = parseInstance(strings.Split(raw[len(instancePrefix):dot], "."))
	return i, by, ok
}

// parseInstance reads the parts of a text that we made.
func parseInstance(parts []string) (i Instance, ok bool) {
	if len(parts) != 5 {
		return Instance{}, false
	}
	id, err := base64.RawURLEncoding.Strict().DecodeString(parts[3])
	seconds, errSeconds := strconv.ParseInt(parts[4], 10, 64)
	if err != nil || errSeconds != nil {
		return Instance{}, false
	}
	return Instance{Region: parts[0], Enrolment: parts[1], Credential: parts[2], ID: string(id),
		ExpiresAt: time.Unix(seconds, 0).UTC()}, true
}
