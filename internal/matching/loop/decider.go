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
	searchState   *searching
	queuedChanges []change // that no turn has applied yet, oldest first

	isRunning      bool // a turn has begun, and its result is not taken yet
	isHot          bool // its last turn used its whole time
	isUnfinished   bool // the last turn left something to search for
	candidateCount int  // after the last turn
	nextAt         time.Time
	hasNext        bool // time alone makes a decision possible, at nextAt
}

// searching is what only the goroutine of a turn uses.
type searching struct {
	engine     *decide.Engine
	isDirty    bool      // the engine has something to search for
	decisionAt time.Time // the moment of its next decision, or of its last
}

func newDecider(v decide.Version, seed uint64) *decider {
	return &decider{searchState: &searching{engine: decide.New(v, seed)}}
}

// putChange queues a change. Newcomers of one moment become one change.
func (d *decider) putChange(c change) {
	// One change for a page of newcomers, whose listener calls come one by one.
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

// beginTurn begins a turn with all changes.
func (d *decider) beginTurn(t *turn) *turn {
	t.decider, t.changes, t.isHot = d, d.queuedChanges, d.isHot
	d.queuedChanges, d.isRunning = nil, true
	return t
}

// endTurn takes the result of a turn.
func (d *decider) endTurn(t *turn) {
	// What the turn has not applied comes before what came during the turn.
	d.isRunning, d.queuedChanges = false, append(t.changes, d.queuedChanges...)
	d.isHot, d.isUnfinished, d.candidateCount = t.usedUp, t.isUnfinished, t.candidateCount
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

	beganAt      time.Time // the moment when it began
	mayDecide    bool      // false: it only applies changes
	maxTime      time.Duration
	maxLate      time.Duration
	searchEffort int
	maxMatches   int // ends the turn with so many matches
	playerArg    string

	decidedMatches []decided
	tookTime       time.Duration
	usedUp         bool
	isUnfinished   bool
	candidateCount int
	nextAt         time.Time
	hasNext        bool
	err            error
}

// decided is a match that an engine decided.
type decided struct {
	proposal decide.Proposal

	decidedAt time.Time
	tickets   []*match.Ticket // as the engine had them, in the order of the proposal; nil: of a match function
}

func (t *turn) runSteps() {
	began := time.Now()
	s := t.decider.searchState
	for t.runStep(s) {
		t.tookTime = time.Since(began)
		if t.tookTime >= t.maxTime || len(t.decidedMatches) >= t.maxMatches {
			// A turn that ends at its number of matches alone is not hot: its profile does not compete with those
			// that search.
			t.usedUp = t.tookTime >= t.maxTime
			break
		}
	}
	t.tookTime = time.Since(began)
	t.isUnfinished, t.candidateCount = s.isDirty, s.engine.Len()
	t.nextAt, t.hasNext = s.engine.Next()
}

// runStep does a short piece of work; false: there is none.
func (t *turn) runStep(s *searching) bool {
	switch {
	case len(t.changes) > 0 && t.appliesNext(s):
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

// advanceTime goes on to the next decision that time alone makes possible, or to the next change, whichever is earlier;
// false: there is neither.
func (t *turn) advanceTime(s *searching) bool {
	at, due := t.nextDecision(s)
	switch {
	case due:
		s.wakeAt(at)
	case len(t.changes) > 0:
		t.applyChange(s)
	default:
		return false
	}
	return true
}

// appliesNext reports whether the next change comes before any decision: it belongs to the moment of that decision, or
// a decision without it would be too late.
func (t *turn) appliesNext(s *searching) bool {
	at := t.changes[0].moment
	return !t.mayDecide || !at.After(s.decisionAt) || t.beganAt.Sub(at) > t.maxLate
}

func (t *turn) applyChange(s *searching) {
	c := &t.changes[0]
	if c.mayFindMatch() {
		s.wakeAt(c.moment)
	}
	if c.applyPart(s.engine, t.playerArg) {
		t.changes = t.changes[1:]
	}
}

// nextDecision returns the moment of a decision that time alone makes possible by the next change, or by now.
func (t *turn) nextDecision(s *searching) (at time.Time, ok bool) {
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

// searchOn searches for a while. What it finds counts as decided at the moment of the decision, however late that is.
func (t *turn) searchOn(s *searching) {
	found, done := s.engine.Run(s.decisionAt, t.searchEffort)
	s.isDirty = !done
	for _, f := range found {
		d := decided{proposal: f, decidedAt: s.decisionAt}
		for _, id := range f.Tickets {
			d.tickets = append(d.tickets, s.engine.Ticket(id))
		}
		t.decidedMatches = append(t.decidedMatches, d)
	}
}

// wakeAt schedules a decision at a moment.
func (s *searching) wakeAt(at time.Time) {
	s.isDirty = true
	if at.After(s.decisionAt) {
		s.decisionAt = at
	}
}
