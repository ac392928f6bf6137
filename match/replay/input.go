package replay

import (
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
)

// Input is everything that a replay depends on.
type Input struct {
	Version decide.Version // the rules; the profile must decide by teams and rules, not by a match function
	Seed    uint64         // of the draws between equal sides, and of accepts
	// Begin and End bound the replay. Tickets that arrive before Begin have waited since their creation.
	Begin, End time.Time
	// Regions are the game regions that have servers for the profile's modes.
	Regions []string
	// Arrivals are in the order of SeenAt, then of creation, then of ids.
	Arrivals iter.Seq2[Arrival, error]
	// Matches are the recorded matches, in any order; nil: there is no history.
	Matches iter.Seq2[Match, error]
	// HasSameRules reports whether a recorded version of the profile has the rules that are replayed; nil: none has.
	HasSameRules func(version int) bool
	Accept       Accept
	Capacity     Capacity
	// Progress, unless nil, is called about a hundred times with the virtual time.
	Progress func(at time.Time)
}

// Arrival is a ticket that becomes a candidate.
type Arrival struct {
	Ticket *match.Ticket
	SeenAt time.Time // when it became a candidate
	// LeftAt is when it left without a match of this profile, for the reason in Why; zero: it waits until it is
	// matched.
	LeftAt time.Time
	Why    Leaving
	// LeftSeen is when the worker learned that the ticket had left: until then searches found it, and matches with it
	// could not be committed. Zero: at once, or not known.
	LeftSeen time.Time
	Recorded *RecordedMatch // its match in the history; nil: none of this profile
}

// Leaving is why a ticket left the queue without a match of the profile.
type Leaving uint8

// The values of Leaving. Stayed: the ticket did not leave.
const (
	Stayed   Leaving = iota
	Quit             // its players cancelled it, or it expired
	Declined         // its players did not accept a match
	Taken            // another profile or director matched it, or it joined an open match
)

// RecordedMatch is the match that a ticket had in the history.
type RecordedMatch struct {
	Match     string
	Version   int // of the profile
	Seed      uint64
	Tickets   int       // of the match
	First     bool      // true for exactly one of the match's tickets
	Team      string    // of the ticket; "": not recorded
	DecidedAt time.Time // when it was decided
	SeatedAt  time.Time // when it was committed
}

// Match is a recorded match.
type Match struct {
	Version, Players int
	Region           string // where it was played; "": nowhere
	Latency          int    // of its worst player there, in milliseconds; 0: not measured
	Rules            []decide.RuleValue
	Preferences      []decide.PreferenceValue // of a replayed match
}

// checkBounds returns an error if the input cannot be replayed.
func (in *Input) checkBounds() error {
	switch p := in.Version.Profile; {
	case p.Function != nil:
		return fmt.Errorf("profile %s decides by a match function, which cannot be replayed", p.Name)
	case !in.Begin.Before(in.End):
		return errors.New("the replay must end after it begins")
	case in.Accept.Rate < 0 || in.Accept.Rate > 1:
		return fmt.Errorf("the rate of accepts must be from 0 to 1, not %g", in.Accept.Rate)
	}
	return nil
}

// Accept decides how players answer ready checks.
type Accept struct {
	// Drawn: each ticket accepts with the probability Rate. Otherwise a ticket that declined a match in the history
	// declines, and all others accept.
	Drawn bool
	Rate  float64
}
