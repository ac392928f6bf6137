package decide

import (
	"slices"

	"github.com/lattice-director/director/match/profile"
)

// same holds if all values are equal, in the match or in each team.
type same struct {
	scope   scope
	perTeam bool
}

func (s *same) admitsCandidate(l *lineup, c *candidate, _ *profile.Limits) bool {
	// It is not known yet who is in which team or role: two players of different values may be in different teams.
	if s.perTeam || s.scope.onlyRole != anyRole {
		return true
	}
	var first atom
	for one := range l.eachWith(c) {
		for _, a := range one.atomsOf(s.scope.column) {
			// A player without a value is left out.
			if a == (atom{}) {
				continue
			}
			if first == (atom{}) {
				first = a
			}
			if a != first {
				return false
			}
		}
	}
	return true
}

func (s *same) judgeLineup(l *lineup, _ *profile.Limits) verdict {
	offences := 0
	for _, sc := range teamScopes(s.scope, s.perTeam, l) {
		var first atom
		for _, a := range l.atomsIn(sc) {
			if first == (atom{}) {
				first = a
			} else if a != first {
				offences++
			}
		}
	}
	return noneOffends(offences)
}

// admitsPairs implements pairwise: two tickets for which the rule has ended may have different values, beside a third
// for which it has not and that has none.
func (s *same) admitsPairs(l *lineup, c *candidate, r *rule) bool {
	return s.perTeam || admitsAtoms(l, c, r, s.scope, areUnequal)
}

// judgePairs implements pairwise.
func (s *same) judgePairs(l *lineup, r *rule) verdict {
	return judgeAtoms(l, r, teamScopes(s.scope, s.perTeam, l), areUnequal)
}

// different holds if all values are distinct, in the match or in each team.
type different struct {
	scope   scope
	perTeam bool
}

func (d *different) admitsCandidate(l *lineup, c *candidate, _ *profile.Limits) bool {
	if d.perTeam || d.scope.onlyRole != anyRole {
		return true
	}
	own := c.atomsOf(d.scope.column)
	for i, a := range own {
		// A player without a value is left out.
		if a == (atom{}) {
			continue
		}
		// Two players of one party are in the match together, whatever others it has.
		if slices.Contains(own[:i], a) {
			return false
		}
		for _, pick := range l.picks {
			if slices.Contains(pick.atomsOf(d.scope.column), a) {
				return false
			}
		}
	}
	return true
}

func (d *different) judgeLineup(l *lineup, _ *profile.Limits) verdict {
	offences := 0
	for _, s := range teamScopes(d.scope, d.perTeam, l) {
		atoms := l.atomsIn(s)
		for i, a := range atoms {
			if slices.Contains(atoms[:i], a) {
				offences++
			}
		}
	}
	return noneOffends(offences)
}

// admitsPairs implements pairwise: two tickets for which the rule has ended may have equal values.
func (d *different) admitsPairs(l *lineup, c *candidate, r *rule) bool {
	return d.perTeam || admitsAtoms(l, c, r, d.scope, areEqual)
}

// judgePairs implements pairwise.
func (d *different) judgePairs(l *lineup, r *rule) verdict {
	return judgeAtoms(l, r, teamScopes(d.scope, d.perTeam, l), areEqual)
}

// areEqual and areUnequal say which values of two players offend a rule.
func areEqual(a, b atom) bool   { return a == b }
func areUnequal(a, b atom) bool { return a != b }

// admitsAtoms reports whether no two players that the rule binds, one of them of c, have values that offend it.
func admitsAtoms(l *lineup, c *candidate, r *rule, s scope, offend func(a, b atom) bool) bool {
	if s.onlyRole != anyRole {
		return true
	}
	// A rule binds a pair of tickets as long as it binds one of them, since the narrower of two steps counts.
	own, binds := c.atomsOf(s.column), l.bindsTicket(r, c)
	for i, a := range own {
		if a == (atom{}) {
			continue
		}
		offends := func(b atom) bool { return b != (atom{}) && offend(a, b) }
		if binds && slices.ContainsFunc(own[:i], offends) {
			return false
		}
		for _, pick := range l.picks {
			if (binds || l.bindsTicket(r, pick)) && slices.ContainsFunc(pick.atomsOf(s.column), offends) {
				return false
			}
		}
	}
	return true
}

// judgeAtoms counts the players whose value offends the rule together with the value of a player before them, where the
// rule binds one of the two.
func judgeAtoms(l *lineup, r *rule, in []scope, offend func(a, b atom) bool) verdict {
	if !l.bindsAny(r) {
		return verdict{holdingRegions: everywhere, hasEnded: true}
	}
	offences := 0
	for _, s := range in {
		var all []boundAtom
		for pick, c := range l.picks {
			binds := l.bindsTicket(r, c)
			for p, a := range c.atomsOf(s.column) {
				if a == (atom{}) || !l.isInScope(l.firstPlayer[pick]+p, s) {
					continue
				}
				if slices.ContainsFunc(all,
					func(b boundAtom) bool { return (binds || b.isBound) && offend(a, b.atom) }) {
					offences++
				}
				all = append(all, boundAtom{a, binds})
			}
		}
	}
	return noneOffends(offences)
}

// boundAtom is a value of a player.
type boundAtom struct {
	atom    atom
	isBound bool // the rule binds the player's ticket
}
