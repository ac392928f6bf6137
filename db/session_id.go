package db

import (
	"crypto/rand"
	"encoding/base64"
	"strings"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/value"
	"github.com/lattice-director/director/internal/base/fault"
)

// Public ids contain their region, so that a lookup needs no directory. Clients treat them as opaque.

// sessionID is the public id of a session: region.uuid.
func sessionID(region string, id uuid.UUID) string { return region + "." + id.String() }

// ParseSessionID returns the two parts of a session's public id. Errors: Invalid.
func ParseSessionID(s string) (region string, id uuid.UUID, err error) {
	region, id, ok := parseSessionID(s)
	if !ok {
		return "", uuid.Nil, &fault.Error{Kind: fault.Invalid, Code: "invalid", Field: "session",
			Detail: "must be the id of a session, region.uuid"}
	}
	return region, id, nil
}

func parseSessionID(s string) (region string, id uuid.UUID, ok bool) {
	region, rest, found := strings.Cut(s, ".")
	// 36 characters are the form that sessionID makes. uuid.Parse takes longer and shorter ones, too.
	if !found || !value.ValidRegion(region) || len(rest) != 36 {
		return "", uuid.Nil, false
	}
	id, err := uuid.Parse(rest)
	return region, id, err == nil
}

const handleBytes = 18 // 144 random bits

// newHandle makes a session handle, region.secret. A player who knows the handle and holds a seat may enter the
// session.
func newHandle(region string) string {
	secret := make([]byte, handleBytes)
	_, _ = rand.Read(secret) // never fails, by its contract
	return region + "." + base64.RawURLEncoding.EncodeToString(secret)
}

func parseHandle(s string) (region string, ok bool) {
	region, rest, found := strings.Cut(s, ".")
	if !found || !value.ValidRegion(region) || len(rest) != base64.RawURLEncoding.EncodedLen(handleBytes) {
		return "", false
	}
	_, err := base64.RawURLEncoding.DecodeString(rest)
	return region, err == nil
}
