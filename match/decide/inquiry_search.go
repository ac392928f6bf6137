package decide

import (
	"cmp"
	"math"
	"slices"
)

// Findings searches for at most effort steps, and returns the result. Call it once, after all others are compared.
func (q *Inquiry) Findings(effort int) Findings {
	f, s := &q.findings, &q.engine.search
	e := q.engine
	s.reached = newReached(len(e.plan.rules))
	f.Nearest = q.nearest.describeNearest(e.plan)
	if !q.startSearch(0) {
		f.Refused = s.refusalBesideSeed(q.seed)
	}
	fit := q.fittingList.keptCandidates()
	f.Complete = !q.fittingList.isPartial
	f.Best.Needed = e.plan.leastAt(e.ageOf(q.seed)).totalSize
	// Of the effort, a quarter is for a match, an eighth for the largest set, and half for relaxations, since these
	// search once for each rule and limit that they try.
	if q.searchAmong(fit, effort/4) {
		f.Match, f.Complete, f.MatchDueAt = ticketIDs(s.newcomerTickets()), true, e.dueAt()
	}
	q.takeReached(s.reached)
	s.reached = nil
	q.findBest(fit, effort/8)
	if f.Match == nil {
		q.relaxRules(fit, effort/2)
	}
	q.findJoin()
	return *f
}

func ticketIDs(all []*candidate) []string {
	ids := make([]string, len(all))
	for i, c := range all {
		ids[i] = c.ticket.ID
	}
	return ids
}

// takeReached copies the best values of rules over sets into the findings.
func (q *Inquiry) takeReached(r *reached) {
	for i := range q.findings.Rules {
		if to := &q.findings.Rules[i]; !to.OfPairs && r.isJudged[i] && !r.bestVerdicts[i].hasEnded {
			to.Judged, to.Value, to.Limit = true, r.bestVerdicts[i].value, r.bestVerdicts[i].limit
		}
	}
}

// searchAmong searches for a match of the ticket with some candidates, and notes if it ran out of steps. It first searches
// with the ticket as the oldest. With older tickets the rules may have widened further, so it also tries each of these
// as the oldest: candidates that are chosen before the oldest would be judged by too narrow limits.
func (q *Inquiry) searchAmong(list []*candidate, nodes int) bool {
	s := &q.engine.search
	cut := false
	if q.startSearch(nodes / 2) {
		s.choices.setList(list, func(c *candidate) bool { return s.refusalBesideSeed(c) == "" })
		if q.searchChoices(q.seed, nodes/2) {
			return true
		}
		cut = s.ranOutOfSteps
	}
	left := nodes / 2
	for _, oldest := range q.widerCandidates(list) {
		q.startAnyhow(left)
		if left <= 0 {
			cut = true
			break
		}
		if !s.takeCandidate(oldest) {
			continue
		}
		s.choices.setList(list, oldest.isOlder)
		if q.searchChoices(oldest, left) {
			return true
		}
		cut, left = cut || s.ranOutOfSteps, s.stepsLeft
	}
	q.findings.Complete = q.findings.Complete && !cut
	return false
}

// widerCandidates returns the candidates whose age widens a rule further than the age of the ticket does, oldest first.
func (q *Inquiry) widerCandidates(list []*candidate) []*candidate {
	e := q.engine
	own := e.plan.momentAfter(e.ageOf(q.seed))
	return slices.DeleteFunc(byAgeOf(list), func(c *candidate) bool { return e.plan.momentAfter(e.ageOf(c)) <= own })
}

func admitsAnybody(*candidate) bool { return true }

// searchChoices looks for a match among the choices, none of which is older than the oldest.
func (q *Inquiry) searchChoices(oldest *candidate, nodes int) bool {
	s := &q.engine.search
	s.minPlayers = s.plan.leastAt(q.engine.ageOf(oldest)).totalSize
	defer func() { q.stepsSpent += nodes - s.stepsLeft }()
	return s.chooseTickets()
}

func (q *Inquiry) startSearch(nodes int) bool {
	e := q.engine
	return e.search.startLine(e.plan, q.seed, e.nowNanos, e.hostRegions.knownRegions, nodes)
}

// startAnyhow makes a line-up of the ticket even if its own party breaks a rule now: with older tickets the rule may be
// wider.
func (q *Inquiry) startAnyhow(nodes int) {
	if s := &q.engine.search; !q.startSearch(nodes) {
		s.line.pushPick(q.seed)
		s.seedOnly.pushPick(q.seed)
	}
}

func byAgeOf(list []*candidate) []*candidate {
	sorted := slices.Clone(list)
	slices.SortFunc(sorted, byAge)
	return sorted
}

// setList sets the choices to the wanted candidates of a list, in its order.
func (k *choices) setList(list []*candidate, wanted func(*candidate) bool) {
	k.list, k.playersUpTo, k.isExhausted = k.list[:0], append(k.playersUpTo[:0], 0), true
	for _, c := range list {
		if wanted(c) {
			k.list = append(k.list, c)
			k.playersUpTo = append(k.playersUpTo, k.playersUpTo[len(k.playersUpTo)-1]+c.playerCount)
		}
	}
}

// findBest finds the largest set that satisfies the rules that need no teams. It tries the nearest candidates first, then
// the oldest.
func (q *Inquiry) findBest(list []*candidate, nodes int) {
	s, e := &q.engine.search, q.engine
	b := &biggest{search: s, maxPlayers: q.mostWith(list)}
	for _, order := range [][]*candidate{list, byAgeOf(list)} {
		q.startAnyhow(nodes / 2)
		s.choices.setList(order, admitsAnybody)
		if s.rolesReachable() {
			b.growFrom(0)
		}
		if b.bestPlayers == b.maxPlayers {
			break
		}
	}
	q.findings.Complete = q.findings.Complete && (!s.ranOutOfSteps || b.bestPlayers == b.maxPlayers)
	q.findings.Best.Players = b.bestPlayers
	q.findings.Best.Lacks = s.lackedRoles(b.bestPicks, e.nowNanos, e.hostRegions.knownRegions)
}

// biggest searches for the line-up with the most players.
type biggest struct {
	search *search

	maxPlayers  int // no line-up of these candidates has more
	bestPicks   []*candidate
	bestPlayers int
}

// mostWith bounds the players of a match of the candidates: places of roles that none of them would take stay empty.
func (q *Inquiry) mostWith(list []*candidate) int {
	most := q.engine.plan.maxPlayers
	for _, n := range q.engine.search.lackedRoles(append(slices.Clone(list), q.seed), q.engine.nowNanos,
		q.engine.hostRegions.knownRegions) {
		most -= n
	}
	return most
}

// growFrom adds choices from the i-th on to the line-up, as long as it can become bigger than the biggest so far.
func (b *biggest) growFrom(i int) {
	if b.search.line.playerCount > b.bestPlayers {
		b.bestPicks, b.bestPlayers = append(b.bestPicks[:0], b.search.line.picks...), b.search.line.playerCount
	}
	for ; i < len(b.search.choices.list) && b.bestPlayers < b.maxPlayers; i++ {
		if left, _ := b.search.choices.playersFrom(i); b.search.line.playerCount+left <= b.bestPlayers {
			return
		}
		if b.search.stepsLeft--; b.search.stepsLeft < 0 {
			b.search.ranOutOfSteps = true
			return
		}
		if b.search.takeCandidate(b.search.choices.list[i]) {
			b.growFrom(i + 1)
			b.search.line.popPick()
		}
	}
}

// lackedRoles returns how many places of each role the tickets leave empty.
func (s *search) lackedRoles(picks []*candidate, now int64, allowed uint64) map[string]int {
	lacks := map[string]int{}
	s.line.resetTo(now, allowed, len(s.plan.teams))
	for _, c := range picks {
		s.line.pushPick(c)
	}
	s.casting.resetRoles(&s.line)
	for role, least := range s.plan.roleNeeds() {
		if n := s.casting.castRoles(anyTeam, []roleNeed{{roleIndex: role, minPlayers: least}}); n > 0 {
			lacks[s.plan.roleNames[role]] = n
		}
	}
	return lacks
}

// findJoin looks for an open match that the ticket can join.
func (q *Inquiry) findJoin() {
	var found []Proposal
	spent := 0
	if q.engine.tryJoin(q.seed, &found, &spent) {
		q.findings.Joins = found[0].Session
	}
}

// PutRoster adds an open match that the ticket may join.
func (q *Inquiry) PutRoster(r Roster) { q.engine.PutRoster(r) }

// shortlist keeps those of the added candidates that a search for a ticket would try first, as choices does, in bounded
// memory.
type shortlist struct {
	choiceOrder choices // of preference
	maxKept     int
	list        []listed
	isPartial   bool // some were left out
}

type listed struct {
	c             *candidate
	fitsNow       bool // it can be in a match with the ticket now, not only after they have waited longer
	pivotDistance float64
}

func newShortlist(seed *candidate, pl *plan, limit int) shortlist {
	return shortlist{choiceOrder: choices{plan: pl, seed: seed}, maxKept: limit}
}

func (l *shortlist) addListed(c *candidate, now bool) {
	seed, distance := l.choiceOrder.seed, 0.0
	if l.choiceOrder.plan.pivot.numberColumn >= 0 {
		distance = math.Abs(c.pivotKey - seed.pivotKey)
	}
	l.list = append(l.list, listed{c, now, distance})
	if len(l.list) >= 2*l.maxKept {
		l.dropExcess()
	}
}

// compareListed orders as the search for the ticket does: nearest first, or as the profile says.
func (l *shortlist) compareListed(a, b listed) int {
	if a.fitsNow != b.fitsNow {
		return trueFirst(a.fitsNow, b.fitsNow)
	}
	if len(l.choiceOrder.plan.preferenceOrder) == 0 {
		return cmp.Or(cmp.Compare(a.pivotDistance, b.pivotDistance), byTurn(a.c, b.c))
	}
	return l.choiceOrder.comparePreferred(a.c, b.c)
}

// dropExcess drops candidates beyond the limit. Half of the places are for the first of each kind: sixty damage dealers
// nearby must not hide the only healer.
func (l *shortlist) dropExcess() {
	slices.SortFunc(l.list, l.compareListed)
	if len(l.list) <= l.maxKept {
		return
	}
	l.isPartial = true
	kinds := map[kind]int{}
	for _, e := range l.list {
		kinds[e.c.kind]++
	}
	share, others := max(1, l.maxKept/(2*len(kinds))), l.maxKept/2
	clear(kinds)
	kept := l.list[:0]
	for _, e := range l.list {
		switch {
		case kinds[e.c.kind] < share && len(kept) < l.maxKept:
			kinds[e.c.kind]++
		case others > 0:
			others--
		default:
			continue
		}
		kept = append(kept, e)
	}
	clear(l.list[len(kept):])
	l.list = kept
}

// keptCandidates returns those that are kept, in order of preference.
func (l *shortlist) keptCandidates() []*candidate {
	l.dropExcess()
	all := make([]*candidate, len(l.list))
	for i, e := range l.list {
		all[i] = e.c
	}
	return all
}

// ofPairs reports whether two tickets that break the rule cannot be in one match, whichever other tickets it has.
func ofPairs(r *rule) bool {
	if r.byTeam {
		return false
	}
	switch k := r.condition.(type) {
	case *near, *same, *different, *common, *avoid:
		return true
	case *latency:
		return !k.takesMean
	case *count:
		return r.baseLimits.Min == 0
	case *or:
		return allOfPairs(k.rules)
	case *and:
		return allOfPairs(k.rules)
	}
	return false
}

func allOfPairs(rules []*rule) bool {
	return !slices.ContainsFunc(rules, func(r *rule) bool { return !ofPairs(r) })
}

// reached keeps the best verdict of each rule over the sets of tickets that a search judges.
type reached struct {
	bestVerdicts []verdict // by rule: of those judged, the one nearest to holding
	isJudged     []bool    // by rule
}

func newReached(rules int) *reached { return &reached{make([]verdict, rules), make([]bool, rules)} }

// noteVerdict notes a verdict over a set of tickets.
func (r *reached) noteVerdict(rule int, v verdict) {
	if r == nil || r.isJudged[rule] && r.bestVerdicts[rule].excess <= v.excess {
		return
	}
	r.bestVerdicts[rule], r.isJudged[rule] = v, true
}
