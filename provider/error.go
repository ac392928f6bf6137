package provider

import (
	"errors"
	"fmt"
	"time"
)

// Kind tells the caller how to continue after an error. Compare with [KindOf].
type Kind string

// The kinds. Their values are words for metrics.
const (
	// RateLimited: nothing has happened. Make no call of this class for Error.RetryAfter.
	RateLimited Kind = "rate_limited"
	// Capacity: the provider has no room. With Error.Ref a deployment exists and must be stopped, else nothing has
	// happened.
	Capacity Kind = "capacity"
	// Transient: nothing has happened, or it was a read. Call again later.
	Transient Kind = "transient"
	// Ambiguous: Deploy may have started a server. Find out by [Provider].Find before the next Deploy.
	Ambiguous Kind = "ambiguous"
	// Permanent: the same call fails again until somebody changes a setting. Nothing has happened.
	Permanent Kind = "permanent"
	// Gone: there is nothing to stop under this ref, as far as the provider knows now. As with PhaseAbsent, it may know
	// it later.
	Gone Kind = "gone"
)

// Error is an error of a provider. Its text holds neither credentials nor values of the environment, so it may be
// stored and shown to operators.
type Error struct {
	Kind       Kind
	Op         string        // deploy, get, find, stop, list
	Ref        Ref           // of Capacity: the deployment to stop, or empty
	RetryAfter time.Duration // of RateLimited: how long to wait, positive
	Err        error
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s: %s: %v", e.Op, e.Kind, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Fail returns an error of a kind.
func Fail(k Kind, op string, err error) *Error { return &Error{Kind: k, Op: op, Err: err} }

// KindOf returns the kind of a provider's error. That of any other error is Ambiguous, the only one that assumes
// nothing.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Ambiguous
}
