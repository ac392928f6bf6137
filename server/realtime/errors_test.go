package realtime

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/token"
)

func TestFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want failure
	}{
		{lobby.ErrNoLogic, failure{Code: "no_logic", Text: "room type has no wasm plugin"}},
		{fmt.Errorf("wrapped: %w", lobby.Invalid("team", "must be a number")), failure{Code: "invalid", Text: "team must be a number", Field: "team"}},
		{&fault.Error{Kind: fault.NotFound, Code: "lobby_unknown", Detail: "no lobby"}, failure{Code: "room_not_found", Text: "room not found"}},
		{&fault.Error{Kind: fault.Unavailable, Code: "unavailable", Detail: "connection lost", RetryAfter: time.Second, Err: errors.New("secret")},
			failure{Code: "unavailable", Text: "temporarily unavailable", RetryAfter: time.Second}},
		{&fault.Error{Kind: fault.TooMany, Code: "too_many", Detail: "30 tickets", RetryAfter: time.Minute}, failure{Code: "rate_limited", Text: "rate limited", RetryAfter: time.Minute}},
		{&fault.Error{Kind: fault.Invalid, Code: "invalid", Detail: "must be short", Field: "attributes"}, failure{Code: "invalid", Text: "attributes must be short", Field: "attributes"}},
		{&fault.Error{Kind: fault.Conflict, Code: "ticket_exists", Detail: "cancel it first"}, failure{Code: "ticket_exists", Text: "cancel it first"}},
		{&frameError{codeTooLarge, "payload exceeds maximum size", "r"}, failure{Code: "too_large", Text: "payload exceeds maximum size"}},
		{failRefused, *failRefused},
	} {
		got, known := failureOf(c.err)
		require.True(t, known)
		require.Equal(t, &c.want, got)
	}
	for _, err := range []error{errors.New("a secret of the director"), &fault.Error{Kind: fault.Superseded, Code: "superseded"}} {
		got, known := failureOf(err)
		require.False(t, known, "it belongs into the log")
		require.Equal(t, failUnavailable, got)
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

// Pins hints that name messages that are not served, or leave out some that are.
func TestHintsNameWhatIsServed(t *testing.T) {
	t.Parallel()
	served := slices.DeleteFunc(slices.Sorted(maps.Keys((&Server{}).allRPCs())), func(name string) bool {
		return name == "room.plugin.call" || strings.HasSuffix(name, ".update") || strings.HasSuffix(name, ".delta") // an alias, and what is refused
	})
	named := regexp.MustCompile(`[a-z]+\.[a-z._]+|echo`).FindAllString(hints[codeUnknownType], -1)
	require.ElementsMatch(t, append(served, "state.ack"), named)
	for _, e := range []*lobby.Error{lobby.ErrNotFound, lobby.ErrNotMember, lobby.ErrWrongType, lobby.ErrNoLogic, lobby.ErrNotInvited} {
		require.NotEmpty(t, hints[e.Code], e.Code)
	}
	for _, r := range []*refusal{refuseSilence, refuseVersion, refuseCodec, refuseFrame("x"), refuseKey("x")} {
		require.NotEmpty(t, handshakeHints[r.code], r.code)
	}
	for _, r := range []token.ProjectRefusal{token.ProjectTokenMissing, token.ProjectTokenMalformed, token.ProjectTokenForged, token.ProjectTokenExpired} {
		require.NotEmpty(t, refuseToken(string(r)).hint, r)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	limited := &failure{Code: codeRateLimited, Text: "rate limited", RetryAfter: 1500 * time.Millisecond}
	for want, out := range map[string]outgoing{
		`{"p":{"ok":true},"rid":"r","t":"rpc.response","v":1}`:                                                                                               answered("r", "", nil),
		`{"p":{"ok":true,"removed":false},"rid":"r","room":"a","t":"rpc.response","v":1}`:                                                                    answered("r", "a", map[string]any{"removed": false}),
		`{"p":{"code":"rate_limited","error":"rate limited","ok":false,"retry_after_ms":1500},"rid":"r","room":"a","t":"rpc.response","v":1}`:                failed("r", "a", limited),
		`{"p":{"code":"invalid","error":"size must be one","field":"size","ok":false},"rid":"r","t":"rpc.response","v":1}`:                                   failed("r", "", invalid("size", "must be one")),
		`{"p":{"code":"rate_limited","reason":"rate limited","retry_after_ms":1500,"room":"a"},"t":"error","v":1}`:                                           failedEvent("a", limited),
		`{"p":{"code":"type_required","hint":"\"t\" names the message, such as room.join_or_create","reason":"message type is required"},"t":"error","v":1}`: failedEvent("", &failure{Code: codeTypeRequired, Text: "message type is required"}),
	} {
		require.Equal(t, want, string(jsonCodec{}.Encode(out)))
	}
}
