package cycle

import (
	"context"
	"errors"
	"fmt"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/panics"
)

// Error is how a call ends that went wrong, though matches may have been delivered before. Its text is the protocol's:
// clients look into it.
type Error struct {
	SyncErr error // of the cycle; nil: none
	MMFErr  error // of the caller's match function; nil: none
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("error(s) in FetchMatches call. syncErr=[%v], mmfErr=[%v]", e.SyncErr, e.MMFErr)
}

// public is what callers are told of an error that is not theirs: what was asked of the database, and where, is not.
func public(err error) error {
	var known *db.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return unavailable("this replica is stopping")
	case errors.Is(err, panics.ErrInternal):
		return panics.ErrInternal
	case db.IsKind(err, db.Superseded):
		return unavailable("another replica runs the cycle by now")
	case errors.As(err, &known):
		return unavailable(known.Detail)
	}
	return unavailable("the cycle cannot be run")
}

var (
	errOverrun     = errors.New("match function ran longer than proposal window, canceling")
	errOver        = errors.New("the call is over")
	errTooMany     = fmt.Errorf("match function proposed more than %d matches", maxProposals)
	errTooLarge    = fmt.Errorf("match function proposed more than %d MiB", maxBytes>>20)
	errFull        = errors.New("match functions of all calls proposed more than is kept at a time")
	errLongID      = fmt.Errorf("match function returned a match_id of more than %d bytes", maxMatchID)
	errManyTickets = fmt.Errorf("match function returned a match whose tickets and match_id come to more than %d MiB", maxMarks>>20)
	errSlow        = errors.New("evaluator ran longer than it may, canceling")
)

// Texts are quoted without escapes, as clients compare them.

func errSameTwice(id string) error {
	return fmt.Errorf("MatchMakingFunction returned same match_id twice: \"%s\"", id)
}

func errSameOfTwo(id string) error {
	return fmt.Errorf("multiple match functions used same match_id: \"%s\"", id)
}

func errUnknownMatch(id string) error {
	return fmt.Errorf("evaluator returned match_id \"%s\" which does not correspond to its any match in its input", id)
}

func errAcceptedTwice(id string) error {
	return fmt.Errorf("evaluator returned same match_id twice: \"%s\"", id)
}
