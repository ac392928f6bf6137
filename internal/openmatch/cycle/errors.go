package cycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/panics"
)

// Error is the error of a call that failed after it had joined a cycle. Matches may have been delivered before. Its
// text is the protocol's: clients search it for the texts below.
type Error struct {
	SyncErr error // of the cycle; nil: none
	MMFErr  error // of the caller's match function; nil: none
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("error(s) in FetchMatches call. syncErr=[%v], mmfErr=[%v]", e.SyncErr, e.MMFErr)
}

func unavailableError(detail string) error {
	return &fault.Error{Kind: fault.Unavailable, Code: "unavailable", Detail: detail, RetryAfter: time.Second}
}

// publicError returns the error that callers get for an internal one: without statements and addresses of the database.
func publicError(err error) error {
	var known *fault.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return unavailableError("this replica is stopping")
	case errors.Is(err, panics.ErrInternal):
		return panics.ErrInternal
	case fault.Is(err, fault.Superseded):
		return unavailableError("another replica has taken the cycle over")
	case errors.As(err, &known):
		return unavailableError(known.Detail)
	}
	return unavailableError("the cycle cannot be run")
}

// Bounds of what one call may propose.
const (
	maxProposals = 100_000
	maxBytes     = 64 << 20 // of all proposals
	maxMatchID   = 4 << 10  // bytes: each ticket of a match stores the match's id
	maxMarks     = 16 << 20 // bytes that the tickets of a match store: one transaction writes them all
)

var (
	errOverrun     = errors.New("match function ran longer than proposal window, canceling")
	errOver        = errors.New("the call is over")
	errTooMany     = fmt.Errorf("match function proposed more than %d matches", maxProposals)
	errTooLarge    = fmt.Errorf("match function proposed more than %d MiB", maxBytes>>20)
	errFull        = errors.New("match functions of all calls proposed more than this replica has memory for")
	errLongID      = fmt.Errorf("match function returned a match_id of more than %d bytes", maxMatchID)
	errManyTickets = fmt.Errorf("match function returned a match whose tickets and match_id come to more than %d MiB",
		maxMarks>>20)
	errSlow = errors.New("evaluator ran longer than it may, canceling")
)

// Formats of errors about a match_id, which they quote without escapes: clients compare these texts.
const (
	sameTwice     = `MatchMakingFunction returned same match_id twice: "%s"`
	sameOfTwo     = `multiple match functions used same match_id: "%s"`
	unknownMatch  = `evaluator returned match_id "%s" which does not correspond to its any match in its input`
	acceptedTwice = `evaluator returned same match_id twice: "%s"`
)
