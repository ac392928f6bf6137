package realtime

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/rooms"
)

func TestFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want failure
	}{
		{rooms.ErrNoLogic, failure{Code: "no_logic", Text: "room type has no wasm plugin"}},
		{fmt.Errorf("wrapped: %w", rooms.Invalid("team", "must be a number")), failure{Code: "invalid", Text: "team must be a number", Field: "team"}},
		{&db.Error{Kind: db.NotFound, Code: "lobby_unknown", Detail: "no lobby"}, failure{Code: "room_not_found", Text: "room not found"}},
		{&db.Error{Kind: db.Unavailable, Code: "unavailable", Detail: "connection lost", RetryAfter: time.Second, Err: errors.New("secret")},
			failure{Code: "unavailable", Text: "temporarily unavailable", RetryAfter: time.Second}},
		{&db.Error{Kind: db.TooMany, Code: "too_many", Detail: "30 tickets", RetryAfter: time.Minute}, failure{Code: "rate_limited", Text: "rate limited", RetryAfter: time.Minute}},
		{&db.Error{Kind: db.Invalid, Code: "invalid", Detail: "must be short", Field: "attributes"}, failure{Code: "invalid", Text: "attributes must be short", Field: "attributes"}},
		{&frameError{codeTooLarge, "payload exceeds maximum size", "r"}, failure{Code: "too_large", Text: "payload exceeds maximum size"}},
		{failRefused, *failRefused},
	} {
		got, known := failureOf(c.err)
		require.True(t, known)
		require.Equal(t, &c.want, got)
	}
	for _, err := range []error{errors.New("a secret of the director"), &db.Error{Kind: db.Superseded, Code: "superseded"}} {
		got, known := failureOf(err)
		require.False(t, known, "it belongs into the log")
		require.Equal(t, failUnavailable, got)
	}
}

func TestEveryKindOfTheStoreHasAFailureOrIsInternal(t *testing.T) {
	t.Parallel()
	for kind := db.NotFound; kind <= db.Unavailable; kind++ {
		fail, listed := kindFailures[kind]
		require.Equal(t, kind != db.Superseded && kind != db.Mismatch, listed, "%d", kind)
		require.Equal(t, listed, fail.Code != "" && fail.Text != "", "%d", kind)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	limited := &failure{Code: codeRateLimited, Text: "rate limited", RetryAfter: 1500 * time.Millisecond}
	for want, out := range map[string]outgoing{
		`{"p":{"ok":true},"rid":"r","t":"rpc.response","v":1}`:                                                                                answered("r", "", nil),
		`{"p":{"ok":true,"removed":false},"rid":"r","room":"a","t":"rpc.response","v":1}`:                                                     answered("r", "a", map[string]any{"removed": false}),
		`{"p":{"code":"rate_limited","error":"rate limited","ok":false,"retry_after_ms":1500},"rid":"r","room":"a","t":"rpc.response","v":1}`: failed("r", "a", limited),
		`{"p":{"code":"invalid","error":"size must be one","field":"size","ok":false},"rid":"r","t":"rpc.response","v":1}`:                    failed("r", "", invalid("size", "must be one")),
		`{"p":{"code":"rate_limited","reason":"rate limited","retry_after_ms":1500,"room":"a"},"t":"error","v":1}`:                            failedEvent("a", limited),
		`{"p":{"code":"unknown_type","reason":"unknown message type"},"t":"error","v":1}`:                                                     failedEvent("", failUnknownType),
	} {
		require.Equal(t, want, string(jsonCodec{}.Encode(out)))
	}
}
