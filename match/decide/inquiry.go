package decide

import (
	"cmp"
	"slices"
	"time"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// Inquiry finds out why one ticket has no match. The caller adds the other tickets one by one. For each the inquiry
// counts the rules that it satisfies in a pair with this ticket, and keeps the few that a search would try, so its
// memory does not grow with the queue. It decides nothing, and is not safe for concurrent use.
type Inquiry struct {
	engine    *Engine // with this ticket alone
	seed      *candidate
	pairLine  lineup // this ticket, and the one that is compared with it
	isOfPairs []bool // by rule: whether two tickets that break it cannot be in one match

	findings     Findings
	nearest      nearest
	fittingList  shortlist   // of candidates that break no rule
	relaxedLists []shortlist // by rule: of candidates that break it alone
	stepsSpent   int         // steps of searches
}

// Inquire begins an inquiry. For a ticket that is no candidate it returns nil and the reasons in lacks. Regions are
// those that may host matches.
func Inquire(v Version, t *match.Ticket, regions []Region, now time.Time) (q *Inquiry, lacks []Lack) {
	// The seed 0 is as good as any: an inquiry proposes nothing, so that no sides are drawn.
	e := New(v, 0)
	if _, lacks = e.Candidate(t); len(lacks) > 0 {
		return nil, lacks
	}
	e.SetRegions(regions)
	e.nowNanos = now.UnixNano()
	e.Add(t)
	q = &Inquiry{engine: e, seed: e.candidateByID[t.ID]}
	pl := e.plan
	for _, r := range pl.rules {
		q.isOfPairs = append(q.isOfPairs, isOfPairs(r))
		q.findings.Rules = append(q.findings.Rules, Reach{ID: r.id, OfPairs: isOfPairs(r)})
	}
	q.findings.HeadStart = pl.headStart(q.seed)
	q.findings.Excluded = map[string]int{}
	q.fittingList = newShortlist(q.seed, pl, min(pl.maxChoices(), maxScanned))
	// Shorter ones, since there is one for each rule.
	for range pl.rules {
		q.relaxedLists = append(q.relaxedLists, newShortlist(q.seed, pl, min(max(64, 2*pl.maxPlayers), maxScanned/4)))
	}
	e.search.plan = pl
	return q, nil
}

// isOfPairs reports whether two tickets that break the rule cannot be in one match, whichever other tickets it has.
func isOfPairs(r *rule) bool {
	if r.looksAtTeams {
		return false
	}
	switch k := r.condition.(type) {
	case *near, *same, *different, *common, *avoid:
		return true
	case *latency:
		// Another ticket may bring a mean below the limit again.
		return !k.takesMean
	case *count:
		return r.baseLimits.Min == 0 // too many players stay too many; too few may become enough with others
	case *or:
		return allOfPairs(k.rules)
	case *and:
		return allOfPairs(k.rules)
	}
	return false
}

func allOfPairs(rules []*rule) bool {
	return !slices.ContainsFunc(rules, func(r *rule) bool { return !isOfPairs(r) })
}

// Compare adds another ticket, in any order. It ignores the ticket itself and tickets that are no candidates of the
// profile.
func (q *Inquiry) Compare(other *match.Ticket) {
	e := q.engine
	if other.ID == q.seed.ticket.ID || len(e.plan.findLacks(other)) > 0 {
		return
	}
	c := e.prepareCandidate(other)
	q.findings.OtherCandidates++
	fails := q.judgePair(c)
	if len(fails) > 0 {
		q.nearest.offerCandidate(c, fails)
	}
	q.shortlistCandidate(c, fails)
}

// PutRoster adds an open match that the ticket may join.
func (q *Inquiry) PutRoster(r Roster) { q.engine.PutRoster(r) }

// failure is a rule that a pair breaks, or another reason why the pair cannot be in one match.
type failure struct {
	ruleIndex int    // -1: another reason
	because   string // the other reason: becauseSize, becauseMode or becausePlayer
	verdict   verdict
}

// judgePair counts the rules that the pair satisfies, and returns those that it breaks.
func (q *Inquiry) judgePair(c *candidate) (fails []failure) {
	e := q.engine
	q.pairLine.resetTo(e.nowNanos, e.hostRegions.knownRegions, len(e.plan.teams))
	// In the order of their ids, in which sums are taken: the numbers of the verdict are then exactly those of a match.
	first, second := q.seed, c
	if byID(c, q.seed) < 0 {
		first, second = c, q.seed
	}
	q.pairLine.pushPick(first)
	q.pairLine.pushPick(second)
	for i, r := range e.plan.rules {
		if !q.isOfPairs[i] {
			continue
		}
		if v := r.verdictFor(&q.pairLine); v.excess > 0 {
			fails = append(fails, failure{ruleIndex: i, verdict: v})
			continue
		}
		reach := &q.findings.Rules[i]
		reach.Holds++
		if len(fails) == 0 {
			reach.HoldsAllBefore++
		}
	}
	if because := q.exclusionReason(c); because != "" {
		if len(fails) == 0 {
			q.findings.Excluded[because]++
		}
		fails = append(fails, failure{ruleIndex: -1, because: because, verdict: verdict{excess: 1}})
	}
	return fails
}

// exclusionReason returns why two tickets cannot be in one match whatever its rules are; empty if they can.
func (q *Inquiry) exclusionReason(c *candidate) string {
	s := &q.engine.search
	q.resetPair()
	switch {
	case q.seed.playerCount+c.playerCount > s.plan.maxPlayers, !s.canPack(&q.pairLine, c):
		return becauseSize
	case s.plan.allModes != 0 && q.seed.allowedModes&c.allowedModes == 0:
		return becauseMode
	case q.pairLine.hasPlayerOf(c):
		return becausePlayer
	}
	return ""
}

// resetPair resets the pair to a line-up of only the ticket.
func (q *Inquiry) resetPair() {
	q.pairLine.resetTo(q.engine.nowNanos, q.engine.hostRegions.knownRegions, len(q.engine.plan.teams))
	q.pairLine.pushPick(q.seed)
}

// shortlistCandidate keeps a candidate that may be in a match with the ticket: at some age, or if one rule were
// relaxed.
func (q *Inquiry) shortlistCandidate(c *candidate, fails []failure) {
	if slices.ContainsFunc(fails, func(f failure) bool { return f.ruleIndex < 0 }) {
		return
	}
	q.resetPair()
	broken := -1
	for i, r := range q.engine.plan.rules {
		// Not by the limits of the ticket's age: with an older ticket in the match the rule may be wider.
		if r.everAdmits(&q.pairLine, c) {
			continue
		}
		// The candidate breaks two rules for good: to relax one of them would not help.
		if broken >= 0 {
			return
		}
		broken = i
	}
	if broken < 0 {
		q.fittingList.addListed(c, len(fails) == 0)
		return
	}
	q.relaxedLists[broken].addListed(c, len(fails) <= 1)
}

// everAdmits is mayAdmit under the widest limits that a match of the two can have together with tickets that have
// waited longer.
func (r *rule) everAdmits(l *lineup, c *candidate) bool {
	_, pairs := r.condition.(pairwise)
	// An older ticket does not widen the rule: the youngest age counts or, of a pair, the narrower step of its tickets.
	if r.ageKind == profile.Youngest || r.ageKind == profile.Each && pairs || len(r.limitSteps) == 0 {
		return r.mayAdmit(l, c)
	}
	lim := &r.limitSteps[len(r.limitSteps)-1].Limits
	return lim.Ended || r.condition.admitsCandidate(l, c, lim)
}

// nearest keeps the candidate that breaks the fewest rules by the least.
type nearest struct {
	c         *candidate
	fails     []failure
	excessSum float64
}

// offerCandidate keeps a candidate that is nearer than the one kept; of two as near, the older one.
func (n *nearest) offerCandidate(c *candidate, fails []failure) {
	sum := 0.0
	for _, f := range fails {
		sum += f.verdict.excess
	}
	isNearer := n.c == nil ||
		cmp.Or(cmp.Compare(len(fails), len(n.fails)), cmp.Compare(sum, n.excessSum), byAge(c, n.c)) < 0
	if isNearer {
		*n = nearest{c, fails, sum}
	}
}

// describeNearest returns the candidate with the ids of the rules that it breaks; nil: none was offered.
func (n *nearest) describeNearest(pl *plan) *Nearest {
	if n.c == nil {
		return nil
	}
	found := &Nearest{Ticket: n.c.ticket.ID}
	for _, f := range n.fails {
		id := f.because
		if f.ruleIndex >= 0 {
			id = pl.rules[f.ruleIndex].id
		}
		found.Fails = append(found.Fails, RuleValue{ID: id, Value: f.verdict.value, Limit: f.verdict.limit})
	}
	return found
}
