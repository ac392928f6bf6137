package loop

import (
	"slices"
	"time"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
)

// decider is the engine of one version of a profile, as the loop sees it. The loop never uses the engine: it queues
// changes, and begins turns, which apply them and search beside the loop. So a search that lasts delays only its own
// profile.
type decider struct {
	search        *searchState
	queuedChanges []change // that no turn has yet, oldest first

	isRunning      bool      // a turn has begun, and its result is not taken yet
	isHot          bool      // its last turn used its whole time
	isUnfinished   bool      // the last turn left something to search for
	candidateCount int       // after the last turn
	nextAt         time.Time // when time alone makes a decision possible; valid with hasNext
	hasNext        bool
}

// searchState is what only the goroutine of a turn uses.
type searchState struct {
	engine     *decide.Engine
	isDirty    bool      // the engine has something to search for
	decisionAt time.Time // the moment of its next decision, or of its last
}

func newDecider(v decide.Version, seed uint64) *decider {
	return &decider{search: &searchState{engine: decide.New(v, seed)}}
}

// putChange queues a change.
func (d *decider) putChange(c change) {
	// The newcomers of a page have one moment and come one by one: they become one change.
	if n := len(d.queuedChanges); n > 0 && c.kind == candidatesCame {
		if last := &d.queuedChanges[n-1]; last.kind == candidatesCame && last.moment.Equal(c.moment) {
			last.entries = append(last.entries, c.entries...)
			return
		}
	}
	c.entries = slices.Clip(c.entries) // other deciders share the array: an append above must copy it
	d.queuedChanges = append(d.queuedChanges, c)
}

// mayFind reports whether a turn might find something by now.
func (d *decider) mayFind(now time.Time) bool {
	return d.isUnfinished || len(d.queuedChanges) > 0 || d.hasNext && !d.nextAt.After(now)
}

// prepareTurn gives a turn all queued changes, and returns it. The decider counts as running from then on.
func (d *decider) prepareTurn(t *turn) *turn {
	t.decider, t.changes, t.isHot = d, d.queuedChanges, d.isHot
	d.queuedChanges, d.isRunning = nil, true
	return t
}

// endTurn takes the result of a turn.
func (d *decider) endTurn(t *turn) {
	// What the turn has not applied comes before what came during the turn.
	d.isRunning, d.queuedChanges = false, append(t.changes, d.queuedChanges...)
	d.isHot, d.isUnfinished, d.candidateCount = t.isUsedUp, t.isUnfinished, t.candidateCount
	d.nextAt, d.hasNext = t.nextAt, t.hasNext
}

// turn is a while in which an engine learns of changes and searches. What it decides depends on the changes and their
// moments only, not on how the work is divided into turns, unless it is late.
type turn struct {
	profileName string
	decider     *decider
	isShadow    bool // of the shadow; otherwise of the live version
	changes     []change
	isHot       bool

	beganAt      time.Time // by the database's clock, as the moments of changes
	mayDecide    bool      // false: it only applies changes
	maxTime      time.Duration
	maxLate      time.Duration // a decision that is later is of a later moment: see nextDecision
	searchEffort int           // nodes between two readings of the clock
	maxMatches   int           // ends a turn that may decide with so many matches
	playerArg    string

	// What came of the turn.
	decidedMatches []decidedMatch
	tookTime       time.Duration
	isUsedUp       bool // it used its whole time
	isUnfinished   bool // as in decider, like the three fields below
	candidateCount int
	nextAt         time.Time
	hasNext        bool
	err            error // a panic
}

// decidedMatch is a match that an engine decided.
type decidedMatch struct {
	proposal decide.Proposal

	decidedAt time.Time
	tickets   []*match.Ticket // as the engine had them, in the order of the proposal; nil: of a match function
}

// runSteps runs the turn: until nothing is left to do, or its time or its number of matches is used up.
func (t *turn) runSteps() {
	began := time.Now()
	s := t.decider.search
	for t.runStep(s) {
		t.tookTime = time.Since(began)
		hasAllMatches := t.mayDecide && len(t.decidedMatches) >= t.maxMatches
		if t.tookTime >= t.maxTime || hasAllMatches {
			// A turn that ends at its number of matches alone is not hot: its profile does not compete with those
			// that search.
			t.isUsedUp = t.tookTime >= t.maxTime
			break
		}
	}
	t.tookTime = time.Since(began)
	t.isUnfinished, t.candidateCount = s.isDirty, s.engine.Len()
	t.nextAt, t.hasNext = s.engine.Next()
}

// runStep does a short piece of work, and reports whether there was one.
func (t *turn) runStep(s *searchState) bool {
	switch {
	case len(t.changes) > 0 && t.mustApplyNext(s):
		t.applyChange(s)
	case !t.mayDecide:
		return false
	case s.isDirty:
		t.searchOn(s)
	default:
		return t.advanceTime(s)
	}
	return true
}

// advanceTime sets the time to that of the next decision that time alone makes possible, or of the next change,
// whichever is earlier, and reports whether there was one.
func (t *turn) advanceTime(s *searchState) bool {
	if at, isDue := t.nextDecision(s); isDue {
		s.scheduleDecision(at)
		return true
	}
	if len(t.changes) > 0 {
		t.applyChange(s)
		return true
	}
	return false
}

// mustApplyNext reports whether the next change comes before any decision: it belongs to the moment of that decision, or
// a decision without it would be too late.
func (t *turn) mustApplyNext(s *searchState) bool {
	at := t.changes[0].moment
	return !t.mayDecide || !at.After(s.decisionAt) || t.beganAt.Sub(at) > t.maxLate
}

// applyChange applies a part of the next change.
func (t *turn) applyChange(s *searchState) {
	c := &t.changes[0]
	if c.mayFindMatch() {
		s.scheduleDecision(c.moment)
	}
	if c.applyPart(s.engine, t.playerArg) {
		t.changes = t.changes[1:]
	}
}

// nextDecision returns the moment of a decision that time alone makes possible by the next change, or by now.
func (t *turn) nextDecision(s *searchState) (at time.Time, ok bool) {
	by := t.beganAt
	if len(t.changes) > 0 {
		by = t.changes[0].moment
	}
	at, ok = s.engine.Next()
	// A decision that is too late is made at the later moment: players would otherwise be judged by how long they had
	// waited then.
	if by.Sub(at) > t.maxLate {
		at = by
	}
	return at, ok && !at.After(by)
}

// searchOn searches for a while. The matches that it finds count as decided at the moment of the decision, however late
// that is.
func (t *turn) searchOn(s *searchState) {
	found, done := s.engine.Run(s.decisionAt, t.searchEffort)
	s.isDirty = !done
	for _, f := range found {
		d := decidedMatch{proposal: f, decidedAt: s.decisionAt}
		for _, id := range f.Tickets {
			d.tickets = append(d.tickets, s.engine.Ticket(id))
		}
		t.decidedMatches = append(t.decidedMatches, d)
	}
}

// scheduleDecision makes the engine search at a moment, or at that of a decision which is scheduled later.
func (s *searchState) scheduleDecision(at time.Time) {
	s.isDirty = true
	if at.After(s.decisionAt) {
		s.decisionAt = at
	}
}
