package db

import (
	"context"
	"errors"
)

var errNotBuilt = errors.New("not built yet")

// OpenRealtime opens a session, or resumes the one that the client names, and makes the replica its owner. A session is resumed while it is live
// or suspended for less than its TTL, by the token with which it was last attached, by the same player, or, with ResumeByKey, by a token of the
// same key; otherwise the client gets a new one. A live session is taken over: its former owner gets an older epoch. Errors: Forbidden
// (token_expired, key_required, key_unknown, key_revoked, key_scope), TooMany (takeovers: ten within ten seconds), Unavailable.
func (s *Store) OpenRealtime(context.Context, OpenRealtime) (OpenedRealtime, error) {
	return OpenedRealtime{}, errNotBuilt
}
