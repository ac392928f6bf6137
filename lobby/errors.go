package lobby

import "fmt"

// Error says why an action is not allowed. Text is the text that clients of Nexis know; Code is stable.
type Error struct {
	Code  string
	Text  string
	Field string // for Code invalid
}

// Error implements error.
func (e *Error) Error() string { return e.Text }

// The errors whose text names no value of the request.
var (
	ErrNotFound     = &Error{Code: "room_not_found", Text: "room not found"}
	ErrNotMember    = &Error{Code: "not_a_member", Text: "client not found"}
	ErrWrongType    = &Error{Code: "unsupported_room_type", Text: "unsupported room type"}
	ErrNoLogic      = &Error{Code: "no_logic", Text: "room type has no wasm plugin"}
	ErrTooManyRooms = &Error{Code: "too_many_rooms", Text: "a session is in at most 64 rooms"}
	ErrMatched      = &Error{Code: "matched", Text: "the match was found before: leave its room instead"}
	ErrInviting     = &Error{Code: "rate_limited", Text: "a player invites at most 64 others in five minutes"}
	ErrFull         = &Error{Code: "room_full", Text: "room is full"}
	ErrLocked       = &Error{Code: "room_locked", Text: "room is locked"}
	ErrNotInvited   = &Error{Code: "not_invited", Text: "not invited"}
	ErrNotOwner     = &Error{Code: "refused", Text: "only the owner of the room may do this"}
	ErrChanged      = &Error{Code: "party_changed", Text: "the members of the room have changed"}
	ErrNoServer     = &Error{Code: "refused", Text: "the match has no server"}
	ErrOfMatch      = &Error{Code: "refused", Text: "the director decides about the room of a match"}
	ErrBanned       = &Error{Code: "banned", Text: "banned from the room"}
	ErrMuted        = &Error{Code: "muted", Text: "muted in the room"}
	ErrCodeUnknown  = &Error{Code: "code_unknown", Text: "no room has this code"}
	ErrCodeTaken    = &Error{Code: "unavailable", Text: "another room has this code"}
	ErrStateTooBig  = &Error{Code: "too_large", Text: "the state of the room would have more than 64 KiB"}
	ErrTooLarge     = &Error{Code: "too_large", Text: "payload exceeds maximum size"}
)

// Invalid is the error of a field that does not have the form that the text demands: "must be true or false".
func Invalid(field, format string, args ...any) *Error {
	return &Error{Code: "invalid", Text: field + " " + fmt.Sprintf(format, args...), Field: field}
}
