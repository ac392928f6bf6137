package wire

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/lobby"
)

func TestFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want Failure
	}{
		{lobby.ErrNoLogic, Failure{Code: "no_logic", Text: "room type has no wasm plugin"}},
		{fmt.Errorf("wrapped: %w", lobby.Invalid("team", "must be a number")), Failure{Code: "invalid", Text: "team must be a number", Field: "team"}},
		{&fault.Error{Kind: fault.NotFound, Code: "lobby_unknown", Detail: "no lobby"}, Failure{Code: "room_not_found", Text: "room not found"}},
		{&fault.Error{Kind: fault.Unavailable, Code: "unavailable", Detail: "connection lost", RetryAfter: time.Second, Err: errors.New("secret")},
			Failure{Code: "unavailable", Text: "temporarily unavailable", RetryAfter: time.Second}},
		{&fault.Error{Kind: fault.TooMany, Code: "too_many", Detail: "30 tickets", RetryAfter: time.Minute}, Failure{Code: "rate_limited", Text: "rate limited", RetryAfter: time.Minute}},
		{&fault.Error{Kind: fault.Invalid, Code: "invalid", Detail: "must be short", Field: "attributes"}, Failure{Code: "invalid", Text: "attributes must be short", Field: "attributes"}},
		{&fault.Error{Kind: fault.Conflict, Code: "ticket_exists", Detail: "cancel it first"}, Failure{Code: "ticket_exists", Text: "cancel it first"}},
		{&FrameError{CodeTooLarge, "payload exceeds maximum size", "r"}, Failure{Code: "too_large", Text: "payload exceeds maximum size"}},
		{FailRefused, *FailRefused},
	} {
		got, known := FailureOf(c.err)
		require.True(t, known)
		require.Equal(t, &c.want, got)
	}
	for _, err := range []error{errors.New("a secret of the director"), &fault.Error{Kind: fault.Superseded, Code: "superseded"}} {
		got, known := FailureOf(err)
		require.False(t, known, "it belongs into the log")
		require.Equal(t, FailUnavailable, got)
	}
}

func TestEveryKindOfTheStoreHasAFailureOrIsInternal(t *testing.T) {
	t.Parallel()
	for kind := fault.NotFound; kind <= fault.Unavailable; kind++ {
		fail, listed := kindFailures[kind]
		require.Equal(t, kind != fault.Superseded && kind != fault.Mismatch, listed, "%d", kind)
		require.Equal(t, listed, fail.Code != "" && fail.Text != "", "%d", kind)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	limited := &Failure{Code: CodeRateLimited, Text: "rate limited", RetryAfter: 1500 * time.Millisecond}
	for want, out := range map[string]Outgoing{
		`{"p":{"ok":true},"rid":"r","t":"rpc.response","v":1}`:                                                                                               SuccessResponse("r", "", nil),
		`{"p":{"ok":true,"removed":false},"rid":"r","room":"a","t":"rpc.response","v":1}`:                                                                    SuccessResponse("r", "a", map[string]any{"removed": false}),
		`{"p":{"code":"rate_limited","error":"rate limited","ok":false,"retry_after_ms":1500},"rid":"r","room":"a","t":"rpc.response","v":1}`:                FailureResponse("r", "a", limited),
		`{"p":{"code":"invalid","error":"size must be one","field":"size","ok":false},"rid":"r","t":"rpc.response","v":1}`:                                   FailureResponse("r", "", InvalidField("size", "must be one")),
		`{"p":{"code":"rate_limited","reason":"rate limited","retry_after_ms":1500,"room":"a"},"t":"error","v":1}`:                                           FailureEvent("a", limited),
		`{"p":{"code":"type_required","hint":"\"t\" names the message, such as room.join_or_create","reason":"message type is required"},"t":"error","v":1}`: FailureEvent("", &Failure{Code: codeTypeRequired, Text: "message type is required"}),
	} {
		require.Equal(t, want, string(JSONCodec{}.Encode(out)))
	}
}
