package lobby

import (
	"errors"
	"strings"
	"time"
)

// Why a request has no answer, or a client has ended.
var (
	// ErrUncertain means that the connection ended before the answer arrived: the request may have been carried out or
	// not. The state of the room says which, once the client is connected again.
	ErrUncertain = errors.New("lobby: the connection ended before the answer: look at the state of the room, " +
		"then repeat the request if it is still needed")
	// ErrClosed means that the client was closed.
	ErrClosed = errors.New("lobby: the client is closed")
	// ErrSuperseded means that another client uses the same session: give each client its own. Final.
	ErrSuperseded = errors.New("lobby: another client took the session over: give each client a session of its own")
)

// Error is a request, a message or a handshake that the director has refused. It never contains the token.
type Error struct {
	// Call is the type of the request, such as "room.join_or_create", with that of its message; "handshake".
	Call string
	// Code is the stable reason, such as "room_full": docs/nexis.md lists them. A newer director may send others.
	Code string
	// Text is the reason for people, and Hint what a program can do about it. Hint may be empty.
	Text, Hint string
	// Field is the invalid field, with the code "invalid".
	Field string
	// RetryAfter is the pause that the director asks for; 0: none.
	RetryAfter time.Duration
	// Address is that of the lobby of the cell that serves the project, with the code "region_elsewhere". The client
	// follows it.
	Address string
}

// Error implements error.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("lobby: " + e.Call + ": " + e.Text + " (" + e.Code + ")")
	if e.Hint != "" {
		b.WriteString(": " + e.Hint)
	}
	return b.String()
}

// CodeOf returns the code of an [Error], "" for any other error.
func CodeOf(err error) string {
	if refused, is := errors.AsType[*Error](err); is {
		return refused.Code
	}
	return ""
}

// refusal is the body of an answer or an event that says why something had no effect.
type refusal struct {
	Text             string `json:"error"`
	Reason           string `json:"reason"` // the text of an event
	Code             string `json:"code"`
	Hint             string `json:"hint"`
	Field            string `json:"field"`
	RetryAfterMillis int64  `json:"retry_after_ms"`

	Address string `json:"address"`
}

func (r refusal) asError(call string) *Error {
	text := r.Text
	if text == "" {
		text = r.Reason
	}
	return &Error{Call: call, Code: r.Code, Text: text, Hint: r.Hint, Field: r.Field, Address: r.Address,
		RetryAfter: time.Duration(r.RetryAfterMillis) * time.Millisecond}
}

// isRepeatable reports whether a request that may be carried out twice is worth a repetition.
func isRepeatable(err error) bool {
	code := CodeOf(err)
	return errors.Is(err, ErrUncertain) || code == "unavailable" || code == "rate_limited"
}

// isFinal reports whether all replicas would refuse the handshake, also later.
func isFinal(err error) bool {
	switch CodeOf(err) {
	case "bad_frame", "unsupported_version", "unsupported_codec":
		return true
	}
	return false
}

// isTokenRefused reports whether the handshake was refused for its token, or for the key that signed the token.
func isTokenRefused(err error) bool {
	code := CodeOf(err)
	return code == "token_refused" || code == "key_refused"
}
