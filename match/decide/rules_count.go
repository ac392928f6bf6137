package decide

import "github.com/lattice-director/director/match/profile"

// count holds if so many players have one of some texts, in the match or in each team.
type count struct {
	scope   scope
	perTeam bool
}

func (k *count) admits(l *lineup, c *candidate, lim *profile.Limits) bool {
	if k.perTeam || k.scope.role != anyRole {
		return true
	}
	n := ones(c.column(k.scope.column))
	for _, pick := range l.picks {
		n += ones(pick.column(k.scope.column))
	}
	return n <= float64(lim.Max)
}

// mayFail implements refutable: with so many players, no further one takes the count below the least.
func (k *count) mayFail(l *lineup, c *candidate, lim *profile.Limits) bool {
	enough := profile.Limits{Max: lim.Min - 1}
	return lim.Max != profile.NoMax || k.admits(l, c, &enough)
}

func ones(values []float64) float64 {
	n := 0.0
	for _, x := range values {
		if x == 1 {
			n++
		}
	}
	return n
}

func (k *count) judge(l *lineup, lim *profile.Limits) verdict {
	worst := verdict{regions: everywhere, ended: true}
	for _, s := range scopes(k.players(), k.perTeam, l) {
		l.values = l.gather(l.values[:0], s)
		worst = narrower(worst, inRange(ones(l.values), lim))
	}
	return worst
}

// players is the scope without folding: players are counted, not parties.
func (k *count) players() scope {
	s := k.scope
	s.fold = profile.FoldEach
	return s
}

func inRange(n float64, lim *profile.Limits) verdict {
	if n > float64(lim.Max) {
		return atMost(n, float64(lim.Max))
	}
	v := atMost(float64(lim.Min), n)
	v.value, v.limit = n, float64(lim.Min)
	if lim.Min == 0 {
		v.limit = float64(lim.Max)
	}
	return v
}
