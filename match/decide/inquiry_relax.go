package decide

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/lattice-director/director/match/profile"
)

// Relaxation is a rule with wider limits and without steps.
type Relaxation struct {
	ID     string
	Kind   profile.RuleKind
	Limits profile.Limits // Ended: no limit suffices, only leaving the rule out
	change float64        // how far the limits are from those of now, for the order
}

// maxPlayers is the size of the largest match that a profile may have.
const maxPlayers = 1024

// relaxRounds bounds the searches for the least relaxation of a rule.
const relaxRounds = 24

// relax finds for each rule the least relaxation that gives a match while the other rules stay unchanged.
func (q *Inquiry) relax(fit []*candidate, nodes int) {
	rules := q.engine.plan.rules
	for i, r := range rules {
		if q.narrowest(r).Ended {
			continue
		}
		t := &trial{inquiry: q, rule: r, list: fit, nodes: max(relaxRounds*baseNodes, nodes/len(rules))}
		if l := &q.relaxed[i]; len(l.list) > 0 {
			t.list = slices.Concat(l.candidates(), fit)
			q.findings.Complete = q.findings.Complete && !l.partial
		}
		if found, ok := t.findLeast(); ok {
			q.findings.Relaxations = append(q.findings.Relaxations, found)
		}
	}
	slices.SortStableFunc(q.findings.Relaxations, func(a, b Relaxation) int { return cmp.Compare(a.change, b.change) })
}

// narrowest returns the narrowest limits of a rule in a match with the ticket: those of its age, unless a younger one
// counts.
func (q *Inquiry) narrowest(r *rule) *profile.Limits {
	if r.age == profile.Oldest {
		return r.limits(q.engine.ageOf(q.seed))
	}
	return &r.base
}

// trial searches with one rule relaxed.
type trial struct {
	inquiry *Inquiry

	rule  *rule
	list  []*candidate
	nodes int // for all searches of the rule
}

// findLeast searches for the least limit that suffices, by bisection and by probing just below the smallest limit that
// sufficed so far.
func (t *trial) findLeast() (Relaxation, bool) {
	now := *t.inquiry.narrowest(t.rule)
	for _, scale := range scalesOf(t.rule.condition, &now) {
		enough, ok := t.try(scale, scale.widest)
		if !ok {
			continue
		}
		enough = t.narrow(scale, scale.now, enough)
		// The change is relative to the limit, so that rules in points, in players and in milliseconds can be
		// compared.
		return Relaxation{
			ID: t.rule.id, Kind: scale.kind, Limits: scale.limits(enough),
			change: (enough - scale.now) / (1 + math.Abs(scale.now)),
		}, true
	}
	if t.with(&profile.Limits{Ended: true}) {
		return Relaxation{ID: t.rule.id, Limits: profile.Limits{Ended: true}, change: math.Inf(1)}, true
	}
	return Relaxation{}, false
}

// narrow returns the least limit that suffices, between one that is too narrow and one that suffices.
func (t *trial) narrow(s scale, short, enough float64) float64 {
	for round := range relaxRounds {
		x := s.below(enough)
		if round%2 == 1 {
			x = s.between(short, enough)
		}
		if x <= short {
			return enough
		}
		if value, ok := t.try(s, x); ok {
			enough = value
		} else if x == s.below(enough) {
			return enough
		} else {
			short = x
		}
	}
	t.inquiry.findings.Complete = false
	return enough
}

// try searches with a limit, and returns a limit that suffices, if any: the value that the match measured, if a search
// under exactly that limit also finds a match. That is not certain: the value of a rule over teams is that of one team.
func (t *trial) try(s scale, x float64) (enough float64, ok bool) {
	limits := s.limits(x)
	if !t.with(&limits) {
		return 0, false
	}
	at := slices.Index(t.inquiry.engine.plan.rules, t.rule)
	needs := max(s.now, s.needs(t.inquiry.engine.search.placing.verdicts[at].value))
	if needs >= x {
		return x, true
	}
	if limits = s.limits(needs); t.with(&limits) {
		return needs, true
	}
	return x, true
}

func (t *trial) with(limits *profile.Limits) bool {
	base, steps := t.rule.base, t.rule.steps
	defer func() { t.rule.base, t.rule.steps = base, steps }()
	t.rule.base, t.rule.steps = *limits, nil
	nodes := min(2*maxNodes, t.nodes)
	if nodes < 2 {
		t.inquiry.findings.Complete = false
		return false
	}
	t.inquiry.stepsSpent = 0
	found := t.inquiry.among(t.list, nodes)
	t.nodes -= t.inquiry.stepsSpent
	return found
}

// scale is a limit of a rule as a number that grows as the rule widens.
type scale struct {
	kind   profile.RuleKind
	now    float64
	widest float64
	whole  bool // the limit is a whole number
	limits func(x float64) profile.Limits
	needs  func(value float64) float64 // a measured value on the scale
}

func (s scale) below(x float64) float64 {
	if s.whole {
		return x - 1
	}
	return math.Nextafter(x, math.Inf(-1))
}

func (s scale) between(a, b float64) float64 {
	x := float64(a/2) + float64(b/2)
	if s.whole {
		x = math.Floor(x)
	}
	return x
}

func as(value float64) float64    { return value }
func minus(value float64) float64 { return -value }

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
		if k.tolerance != noColumn {
			return nil // a wider rule leaves the tickets' own limits as they are
		}
		return []scale{{profile.Near, now.Within, math.MaxFloat64, false, within, as}}
	case *balance:
		return []scale{{profile.Balance, now.Within, math.MaxFloat64, false, within, as}}
	case *sizes:
		return []scale{{profile.Sizes, now.Within, math.MaxInt32, true, within, as}}
	case *common:
		return []scale{{profile.Common, float64(-now.AtLeast), -1, true,
			with(func(l *profile.Limits, x float64) { l.AtLeast = int(-x) }), minus}}
	case *count:
		least := with(func(l *profile.Limits, x float64) { l.Min = int(-x) })
		most := with(func(l *profile.Limits, x float64) { l.Max = int(x) })
		return []scale{{profile.Count, float64(-now.Min), 0, true, least, minus},
			{profile.Count, float64(now.Max), maxPlayers, true, most, as}}
	case *latency:
		ms := with(func(l *profile.Limits, x float64) { l.Latency = time.Duration(x * float64(time.Millisecond)) })
		return []scale{{profile.Latency, math.Floor(float64(now.Latency) / float64(time.Millisecond)), unmeasured, true,
			ms, math.Ceil}}
	case *compare:
		return k.scales(now)
	}
	return nil
}

// scales returns the limit of a comparison with a number, up or down.
func (c *compare) scales(now *profile.Limits) []scale {
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
		return []scale{{profile.Comparison, now.Number, math.MaxFloat64, false, to(1), as}}
	case c.operator == profile.GreaterOrEqual:
		return []scale{{profile.Comparison, -now.Number, math.MaxFloat64, false, to(-1), minus}}
	}
	return nil
}
