package openmatch

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/openmatch/cycle"
	"github.com/lattice-director/director/match"
)

// statusCodes maps the store's kinds of errors to gRPC codes.
var statusCodes = map[fault.Kind]codes.Code{
	fault.NotFound:    codes.NotFound,
	fault.Conflict:    codes.FailedPrecondition,
	fault.NoCapacity:  codes.ResourceExhausted,
	fault.Superseded:  codes.FailedPrecondition,
	fault.Gone:        codes.NotFound,
	fault.Forbidden:   codes.PermissionDenied,
	fault.Invalid:     codes.InvalidArgument,
	fault.Mismatch:    codes.InvalidArgument,
	fault.TooMany:     codes.ResourceExhausted,
	fault.Unavailable: codes.Unavailable,
	fault.Elsewhere:   codes.FailedPrecondition,
}

// codePlayerWaits is the store's code for a player who has a live ticket already; gRPC has the code AlreadyExists for
// it.
const codePlayerWaits = "player_waits"

// invalidError is the error of an invalid request. Clients compare the texts, which are Open Match's.
func invalidError(text string) error { return match.Invalid(text) }

// errInternal replaces unexpected errors; the log has their text.
var errInternal = status.Error(codes.Internal, "internal error")

// statusOf returns whether err is an unexpected error, and the error for the client.
func statusOf(err error) (isInternal bool, answer error) {
	// Most calls have no error, and return before the variables of errors.As are allocated.
	if err == nil {
		return false, nil
	}
	var refused match.Invalid
	var stored *fault.Error
	var fetched *cycle.Error
	switch {
	// Open Match answers Unknown for each failure of FetchMatches; clients search the text for its parts.
	case errors.As(err, &fetched):
		return false, status.Error(codes.Unknown, fetched.Error())
	case errors.As(err, &refused):
		return false, status.Error(codes.InvalidArgument, refused.Error())
	case errors.As(err, &stored):
		return false, status.Error(codeOf(stored), stored.Detail)
	case errors.Is(err, context.DeadlineExceeded):
		return false, status.Error(codes.DeadlineExceeded, "the call was not decided in time")
	case errors.Is(err, context.Canceled):
		return false, status.Error(codes.Canceled, "the caller is gone")
	}
	// A status was made by this package or by gRPC, with a code and a text for the client.
	if s, ok := status.FromError(err); ok {
		return false, s.Err()
	}
	return true, errInternal
}

func codeOf(e *fault.Error) codes.Code {
	if e.Code == codePlayerWaits {
		return codes.AlreadyExists
	}
	if code, ok := statusCodes[e.Kind]; ok {
		return code
	}
	return codes.Internal
}
