package decide

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/lattice-director/director/match/profile"
)

// largestMatch is the greatest number of players of a match that a profile may ask for.
const largestMatch = 1024

// relaxRounds bounds the searches for the least relaxation of a rule.
const relaxRounds = 24

// relaxRules finds for each rule the least relaxation that gives a match while the other rules stay unchanged.
func (q *Inquiry) relaxRules(fit []*candidate, nodes int) {
	rules := q.engine.plan.rules
	for i, r := range rules {
		// A rule that has ended keeps nobody away.
		if q.narrowestLimits(r).Ended {
			continue
		}
		t := &trial{inquiry: q, rule: r, candidateList: fit, stepsLeft: max(relaxRounds*baseNodes, nodes/len(rules))}
		// Candidates whom this rule alone keeps away come first: a wider limit would allow a match with them.
		if l := &q.relaxedLists[i]; len(l.list) > 0 {
			t.candidateList = slices.Concat(l.keptCandidates(), fit)
			q.findings.Complete = q.findings.Complete && !l.isPartial
		}
		if found, ok := t.findLeast(); ok {
			q.findings.Relaxations = append(q.findings.Relaxations, found)
		}
	}
	slices.SortStableFunc(q.findings.Relaxations, func(a, b Relaxation) int { return cmp.Compare(a.change, b.change) })
}

// narrowestLimits returns the narrowest limits of a rule in a match with the ticket: those of the ticket's age if the
// oldest counts, else those of a ticket that has just come.
func (q *Inquiry) narrowestLimits(r *rule) *profile.Limits {
	if r.ageKind == profile.Oldest {
		return r.limitsAt(q.engine.ageOf(q.seed))
	}
	return &r.baseLimits
}

// trial searches with one rule relaxed.
type trial struct {
	inquiry *Inquiry

	rule          *rule
	candidateList []*candidate
	stepsLeft     int // for all searches of the rule
}

// findLeast searches for the least limit that suffices, by bisection and by probing just below the smallest limit that
// sufficed so far.
func (t *trial) findLeast() (Relaxation, bool) {
	now := *t.inquiry.narrowestLimits(t.rule)
	for _, scale := range scalesOf(t.rule.condition, &now) {
		enough, ok := t.tryLimit(scale, scale.widestValue)
		if !ok {
			continue
		}
		enough = t.narrowLimit(scale, scale.currentValue, enough)
		// The change is relative to the limit, so that rules in points, in players and in milliseconds can be
		// compared.
		return Relaxation{
			ID: t.rule.id, Kind: scale.kind, Limits: scale.limitsAt(enough),
			change: (enough - scale.currentValue) / (1 + math.Abs(scale.currentValue)),
		}, true
	}
	if t.searchWith(&profile.Limits{Ended: true}) {
		return Relaxation{ID: t.rule.id, Limits: profile.Limits{Ended: true}, change: math.Inf(1)}, true
	}
	return Relaxation{}, false
}

// narrowLimit returns the least limit that suffices, between one that is too narrow and one that suffices.
func (t *trial) narrowLimit(s scale, short, enough float64) float64 {
	for round := range relaxRounds {
		// In turn just below the limit that sufficed, which ends the search if it is too narrow, and in the middle.
		x := s.justBelow(enough)
		if round%2 == 1 {
			x = s.middleBetween(short, enough)
		}
		if x <= short {
			return enough
		}
		if value, ok := t.tryLimit(s, x); ok {
			enough = value
		} else if x == s.justBelow(enough) {
			return enough
		} else {
			short = x
		}
	}
	t.inquiry.findings.Complete = false
	return enough
}

// tryLimit searches with a limit, and returns a limit that suffices, if any: the value that the match measured, if a
// search under exactly that limit also finds a match. That is not certain: the value of a rule over teams is that of
// one team.
func (t *trial) tryLimit(s scale, x float64) (enough float64, ok bool) {
	limits := s.limitsAt(x)
	if !t.searchWith(&limits) {
		return 0, false
	}
	at := slices.Index(t.inquiry.engine.plan.rules, t.rule)
	needs := max(s.currentValue, s.scaleValue(t.inquiry.engine.search.placement.verdicts[at].value))
	if needs >= x {
		return x, true
	}
	if limits = s.limitsAt(needs); t.searchWith(&limits) {
		return needs, true
	}
	return x, true
}

// searchWith searches for a match with other limits of the rule, and reports whether it found one.
func (t *trial) searchWith(limits *profile.Limits) bool {
	// The search reads the limits from the plan, which no other search uses: they are put back afterwards.
	base, steps := t.rule.baseLimits, t.rule.limitSteps
	defer func() { t.rule.baseLimits, t.rule.limitSteps = base, steps }()
	t.rule.baseLimits, t.rule.limitSteps = *limits, nil
	nodes := min(2*maxNodes, t.stepsLeft)
	// The search halves its steps, and without a step it would say that there is no match.
	if nodes < 2 {
		t.inquiry.findings.Complete = false
		return false
	}
	t.inquiry.stepsSpent = 0
	found := t.inquiry.searchAmong(t.candidateList, nodes)
	t.stepsLeft -= t.inquiry.stepsSpent
	return found
}

// scale is a limit of a rule as a number that grows as the rule widens.
type scale struct {
	kind         profile.RuleKind
	currentValue float64
	widestValue  float64
	isWhole      bool // the limit is a whole number
	limitsAt     func(x float64) profile.Limits
	scaleValue   func(value float64) float64 // a measured value on the scale
}

func (s scale) justBelow(x float64) float64 {
	if s.isWhole {
		return x - 1
	}
	return math.Nextafter(x, math.Inf(-1))
}

func (s scale) middleBetween(a, b float64) float64 {
	x := float64(a/2) + float64(b/2)
	if s.isWhole {
		x = math.Floor(x)
	}
	return x
}

func sameValue(value float64) float64   { return value }
func negateValue(value float64) float64 { return -value }

// scalesOf returns the limits that can be widened, each alone; none if the rule can only end.
func scalesOf(c condition, now *profile.Limits) []scale {
	with := func(change func(l *profile.Limits, x float64)) func(float64) profile.Limits {
		return func(x float64) profile.Limits {
			l := *now
			change(&l, x)
			return l
		}
	}
	within := with(func(l *profile.Limits, x float64) { l.Within = x })
	switch k := c.(type) {
	case *near:
		if k.toleranceColumn != noColumn {
			return nil // a wider rule leaves the tickets' own limits as they are
		}
		return []scale{{profile.Near, now.Within, math.MaxFloat64, false, within, sameValue}}
	case *balance:
		return []scale{{profile.Balance, now.Within, math.MaxFloat64, false, within, sameValue}}
	case *sizes:
		return []scale{{profile.Sizes, now.Within, math.MaxInt32, true, within, sameValue}}
	case *common:
		// Down to one value: with none the rule would always hold, which is its end.
		return []scale{{profile.Common, float64(-now.AtLeast), -1, true,
			with(func(l *profile.Limits, x float64) { l.AtLeast = int(-x) }), negateValue}}
	case *count:
		// Either limit may be the one that keeps others away: each is tried alone.
		least := with(func(l *profile.Limits, x float64) { l.Min = int(-x) })
		most := with(func(l *profile.Limits, x float64) { l.Max = int(x) })
		return []scale{{profile.Count, float64(-now.Min), 0, true, least, negateValue},
			{profile.Count, float64(now.Max), largestMatch, true, most, sameValue}}
	case *latency:
		// In whole milliseconds, as tickets have their latencies.
		ms := with(func(l *profile.Limits, x float64) { l.Latency = time.Duration(x * float64(time.Millisecond)) })
		return []scale{{profile.Latency, math.Floor(float64(now.Latency) / float64(time.Millisecond)), unmeasured, true,
			ms, math.Ceil}}
	case *compare:
		return k.limitScales(now)
	}
	return nil
}

// limitScales returns the scale of a comparison with a number: up for <=, down for >=.
func (c *compare) limitScales(now *profile.Limits) []scale {
	to := func(sign float64) func(float64) profile.Limits {
		return func(x float64) profile.Limits {
			l := *now
			l.Number = sign * x
			return l
		}
	}
	switch {
	case c.otherMeasure != nil:
		return nil
	case c.operator == profile.LessOrEqual:
		return []scale{{profile.Comparison, now.Number, math.MaxFloat64, false, to(1), sameValue}}
	case c.operator == profile.GreaterOrEqual:
		return []scale{{profile.Comparison, -now.Number, math.MaxFloat64, false, to(-1), negateValue}}
	}
	// The numbers that suffice for < and > have no least one, and for = and != no direction.
	return nil
}
