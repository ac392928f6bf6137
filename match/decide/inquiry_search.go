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
	f.Nearest = q.nearest.described(e.plan)
	if !q.start(0) {
		f.Refused = s.refusalBesideSeed(q.seed)
	}
	fit := q.fit.candidates()
	f.Complete = !q.fit.partial
	f.Best.Needed = e.plan.leastAt(e.ageOf(q.seed)).sum
	// Of the effort, a quarter is for a match, an eighth for the largest set, and half for relaxations, since these
	// search once for each rule and limit that they try.
	if q.among(fit, effort/4) {
		f.Match, f.Complete, f.MatchDueAt = ticketIDs(s.newcomers()), true, e.dueAt()
	}
	q.takeReached(s.reached)
	s.reached = nil
	q.best(fit, effort/8)
	if f.Match == nil {
		q.relax(fit, effort/2)
	}
	q.join()
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
		if to := &q.findings.Rules[i]; !to.OfPairs && r.judges[i] && !r.best[i].ended {
			to.Judged, to.Value, to.Limit = true, r.best[i].value, r.best[i].limit
		}
	}
}

// among searches for a match of the ticket with some candidates, and notes if it ran out of steps. It first searches
// with the ticket as the oldest. With older tickets the rules may have widened further, so it also tries each of these
// as the oldest: candidates that are chosen before the oldest would be judged by too narrow limits.
func (q *Inquiry) among(list []*candidate, nodes int) bool {
	s := &q.engine.search
	cut := false
	if q.start(nodes / 2) {
		s.choices.fix(list, func(c *candidate) bool { return s.refusalBesideSeed(c) == "" })
		if q.choose(q.seed, nodes/2) {
			return true
		}
		cut = s.ranOutOfSteps
	}
	left := nodes / 2
	for _, oldest := range q.wider(list) {
		q.startAnyhow(left)
		if left <= 0 {
			cut = true
			break
		}
		if !s.take(oldest) {
			continue
		}
		s.choices.fix(list, oldest.older)
		if q.choose(oldest, left) {
			return true
		}
		cut, left = cut || s.ranOutOfSteps, s.nodes
	}
	q.findings.Complete = q.findings.Complete && !cut
	return false
}

// wider returns the candidates whose age widens a rule further than the age of the ticket does, oldest first.
func (q *Inquiry) wider(list []*candidate) []*candidate {
	e := q.engine
	own := e.plan.momentAfter(e.ageOf(q.seed))
	return slices.DeleteFunc(byAgeOf(list), func(c *candidate) bool { return e.plan.momentAfter(e.ageOf(c)) <= own })
}

func anybody(*candidate) bool { return true }

// choose looks for a match among the choices, none of which is older than the oldest.
func (q *Inquiry) choose(oldest *candidate, nodes int) bool {
	s := &q.engine.search
	s.minPlayers = s.plan.leastAt(q.engine.ageOf(oldest)).sum
	defer func() { q.stepsSpent += nodes - s.nodes }()
	return s.choose()
}

func (q *Inquiry) start(nodes int) bool {
	e := q.engine
	return e.search.start(e.plan, q.seed, e.now, e.regions.knownRegions, nodes)
}

// startAnyhow makes a line-up of the ticket even if its own party breaks a rule now: with older tickets the rule may be
// wider.
func (q *Inquiry) startAnyhow(nodes int) {
	if s := &q.engine.search; !q.start(nodes) {
		s.line.push(q.seed)
		s.seedOnly.push(q.seed)
	}
}

func byAgeOf(list []*candidate) []*candidate {
	sorted := slices.Clone(list)
	slices.SortFunc(sorted, byAge)
	return sorted
}

// fix sets the choices to the wanted candidates of a list, in its order.
func (k *choices) fix(list []*candidate, wanted func(*candidate) bool) {
	k.list, k.players, k.ended = k.list[:0], append(k.players[:0], 0), true
	for _, c := range list {
		if wanted(c) {
			k.list = append(k.list, c)
			k.players = append(k.players, k.players[len(k.players)-1]+c.size)
		}
	}
}

// best finds the largest set that satisfies the rules that need no teams. It tries the nearest candidates first, then
// the oldest.
func (q *Inquiry) best(list []*candidate, nodes int) {
	s, e := &q.engine.search, q.engine
	b := &biggest{search: s, maxPlayers: q.mostWith(list)}
	for _, order := range [][]*candidate{list, byAgeOf(list)} {
		q.startAnyhow(nodes / 2)
		s.choices.fix(order, anybody)
		if s.rolesReachable() {
			b.grow(0)
		}
		if b.players == b.maxPlayers {
			break
		}
	}
	q.findings.Complete = q.findings.Complete && (!s.ranOutOfSteps || b.players == b.maxPlayers)
	q.findings.Best.Players = b.players
	q.findings.Best.Lacks = s.lacked(b.picks, e.now, e.regions.knownRegions)
}

// biggest searches for the line-up with the most players.
type biggest struct {
	search *search

	maxPlayers int // no line-up of these candidates has more
	picks      []*candidate
	players    int
}

// mostWith bounds the players of a match of the candidates: places of roles that none of them would take stay empty.
func (q *Inquiry) mostWith(list []*candidate) int {
	most := q.engine.plan.maxPlayers
	for _, n := range q.engine.search.lacked(append(slices.Clone(list), q.seed), q.engine.now,
		q.engine.regions.knownRegions) {
		most -= n
	}
	return most
}

// grow adds choices from the i-th on to the line-up, as long as it can become bigger than the biggest so far.
func (b *biggest) grow(i int) {
	if b.search.line.players > b.players {
		b.picks, b.players = append(b.picks[:0], b.search.line.picks...), b.search.line.players
	}
	for ; i < len(b.search.choices.list) && b.players < b.maxPlayers; i++ {
		if left, _ := b.search.choices.playersFrom(i); b.search.line.players+left <= b.players {
			return
		}
		if b.search.nodes--; b.search.nodes < 0 {
			b.search.ranOutOfSteps = true
			return
		}
		if b.search.take(b.search.choices.list[i]) {
			b.grow(i + 1)
			b.search.line.pop()
		}
	}
}

// lacked returns how many places of each role the tickets leave empty.
func (s *search) lacked(picks []*candidate, now int64, allowed uint64) map[string]int {
	lacks := map[string]int{}
	s.line.reset(now, allowed, len(s.plan.teams))
	for _, c := range picks {
		s.line.push(c)
	}
	s.casting.begin(&s.line)
	for role, least := range s.plan.roleNeeds() {
		if n := s.casting.cast(anyTeam, []roleNeed{{role: role, min: least}}); n > 0 {
			lacks[s.plan.roles[role]] = n
		}
	}
	return lacks
}

// join looks for an open match that the ticket can join.
func (q *Inquiry) join() {
	var found []Proposal
	spent := 0
	if q.engine.join(q.seed, &found, &spent) {
		q.findings.Joins = found[0].Session
	}
}

// PutRoster adds an open match that the ticket may join.
func (q *Inquiry) PutRoster(r Roster) { q.engine.PutRoster(r) }

// shortlist keeps those of the added candidates that a search for a ticket would try first, as choices does, in bounded
// memory.
type shortlist struct {
	order   choices // of preference
	limit   int
	list    []listed
	partial bool // some were left out
}

type listed struct {
	c       *candidate
	now     bool // it can be in a match with the ticket now, not only after they have waited longer
	nearest float64
}

func newShortlist(seed *candidate, pl *plan, limit int) shortlist {
	return shortlist{order: choices{plan: pl, seed: seed}, limit: limit}
}

func (l *shortlist) add(c *candidate, now bool) {
	seed, distance := l.order.seed, 0.0
	if l.order.plan.pivot.column >= 0 {
		distance = math.Abs(c.key - seed.key)
	}
	l.list = append(l.list, listed{c, now, distance})
	if len(l.list) >= 2*l.limit {
		l.shorten()
	}
}

// prefer orders as the search for the ticket does: nearest first, or as the profile says.
func (l *shortlist) prefer(a, b listed) int {
	if a.now != b.now {
		return first(a.now, b.now)
	}
	if len(l.order.plan.order) == 0 {
		return cmp.Or(cmp.Compare(a.nearest, b.nearest), byTurn(a.c, b.c))
	}
	return l.order.prefer(a.c, b.c)
}

// shorten drops candidates beyond the limit. Half of the places are for the first of each kind: sixty damage dealers
// nearby must not hide the only healer.
func (l *shortlist) shorten() {
	slices.SortFunc(l.list, l.prefer)
	if len(l.list) <= l.limit {
		return
	}
	l.partial = true
	kinds := map[kind]int{}
	for _, e := range l.list {
		kinds[e.c.kind]++
	}
	share, others := max(1, l.limit/(2*len(kinds))), l.limit/2
	clear(kinds)
	kept := l.list[:0]
	for _, e := range l.list {
		switch {
		case kinds[e.c.kind] < share && len(kept) < l.limit:
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

// candidates returns those that are kept, in order of preference.
func (l *shortlist) candidates() []*candidate {
	l.shorten()
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
		return !k.mean
	case *count:
		return r.base.Min == 0
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
	best   []verdict // by rule: of those judged, the one nearest to holding
	judges []bool    // by rule
}

func newReached(rules int) *reached { return &reached{make([]verdict, rules), make([]bool, rules)} }

// judged notes a verdict over a set of tickets.
func (r *reached) judged(rule int, v verdict) {
	if r == nil || r.judges[rule] && r.best[rule].excess <= v.excess {
		return
	}
	r.best[rule], r.judges[rule] = v, true
}
