package profile

import "fmt"

// waysOf returns the ways in which a claim can be true, now or after some step.
func (s *satisfier) waysOf(c claim) (ways []way) {
	rules := c.rule.Rules
	switch kind := c.rule.Kind; {
	// The rule holds once a ticket has waited for so long. It is not negated: rules below not have no steps.
	case c.rule.widestLimits().Ended:
		return alwaysTrue
	case kind == Not:
		return s.waysOf(claim{rule: &rules[0], isNegated: !c.isNegated})
	// An and that must not hold is an or of rules that must not hold, and the other way round.
	case kind == Or && !c.isNegated, kind == And && c.isNegated:
		for i := range rules {
			ways = append(ways, s.waysOf(claim{rule: &rules[i], isNegated: c.isNegated})...)
		}
	// All of the rules: each way of one with each way of the next.
	case kind == Or, kind == And:
		ways = alwaysTrue
		for i := range rules {
			ways = eachWith(ways, s.waysOf(claim{rule: &rules[i], isNegated: c.isNegated}))
		}
	default:
		ways = s.waysWithin(c)
	}
	// Too many to try.
	if len(ways) > maxWays {
		return alwaysTrue
	}
	return ways
}

// atSomeStep returns the limits that decide whether the rule can ever hold: those after the last step, because steps
// make rules wider; of = and !=, for which no number is wider than another, those of every step.
func (r *Rule) atSomeStep() []Limits {
	if r.Kind != Comparison || r.Compare.Operator != Equal && r.Compare.Operator != NotEqual {
		return []Limits{r.widestLimits()}
	}
	all := []Limits{r.Limits}
	for _, step := range r.Widen {
		all = append(all, step.Limits)
	}
	return all
}

// widestLimits returns the limits after the last step.
func (r *Rule) widestLimits() Limits {
	if n := len(r.Widen); n > 0 {
		return r.Widen[n-1].Limits
	}
	return r.Limits
}

// waysWithin returns the ways of a rule that consists of no others, whose bounds say from whom they are.
func (s *satisfier) waysWithin(c claim) (all []way) {
	for _, c.stepLimits = range c.rule.atSomeStep() {
		// A claim for each step, so that a report names the limits with which its bounds contradict others.
		from := c
		ways := s.kindWays(&from, c.stepLimits)
		for _, w := range ways {
			for i := range w.numberBounds {
				w.numberBounds[i].fromClaim = &from
			}
		}
		all = append(all, ways...)
	}
	return all
}

// kindWays returns the ways of a rule that consists of no others, under some limits.
func (s *satisfier) kindWays(c *claim, l Limits) []way {
	r := c.rule
	switch r.Kind {
	case Near:
		return s.spreadWays(c, l.Within)
	case Same:
		return s.spreadWays(c, 0)
	case Different:
		return s.differentWays(c)
	case Balance:
		return s.balanceWays(c, l.Within)
	case Sizes:
		return s.sizesWays(c, l.Within)
	case PartySizes:
		return s.partyWays(c, l.Within)
	case Comparison:
		return s.compareWays(c, l)
	case Common:
		return s.commonWays(c, l)
	case Count:
		return s.countWays(c, l)
	case Latency:
		return latencyWays(c, l)
	case Avoid:
		// Two rules, one per team and one for the match, count different players.
		avoided := quantity{fmt.Sprint("avoided per team ", r.PerTeam), s.groupOf(r, wholeMatch)}
		return upTo(c, avoided, 0)
	default: // Or, And, Not, which waysOf takes apart
		return alwaysTrue
	}
}

// upTo returns the way of a quantity that is at most a limit or, negated, exceeds it.
func upTo(c *claim, q quantity, most float64) []way {
	if c.isNegated {
		// The quantity without a name is 0: 0 - q < -most says that q exceeds the limit.
		return []way{{numberBounds: []bound{{rightQuantity: q, limit: -most, isStrict: true}},
			presentGroups: []group{q.group}}}
	}
	return []way{{numberBounds: []bound{{lowerQuantity: q, limit: most}}}}
}

func (s *satisfier) groupOf(r *Rule, team int) group { return group{s.ruleColumn(r), team, r.Role} }

// ruleGroups returns the groups in each of which a rule must hold: the match, or every team.
func (s *satisfier) ruleGroups(r *Rule) (all []group) {
	if !r.PerTeam {
		return []group{s.groupOf(r, wholeMatch)}
	}
	for team := range s.p.Teams {
		all = append(all, s.groupOf(r, team))
	}
	return all
}

// spreadWays returns the ways of near and same: the highest value of each group exceeds the lowest by at most a limit.
func (s *satisfier) spreadWays(c *claim, most float64) []way {
	if c.isNegated {
		return s.wideSpreadWays(c.rule, most)
	}
	reach := most
	if c.rule.FromMean {
		// One value may be the limit below the mean, and another one the limit above it.
		reach = 2 * most
	}
	holds := way{}
	for _, g := range s.ruleGroups(c.rule) {
		holds.numberBounds = append(holds.numberBounds, bound{lowerQuantity: g.highestValue(),
			rightQuantity: g.lowestValue(), limit: reach, isRounded: c.rule.FromMean})
	}
	return []way{holds}
}

// wideSpreadWays returns the ways in which near or same does not hold: in one of the groups.
func (s *satisfier) wideSpreadWays(r *Rule, most float64) (ways []way) {
	for _, g := range s.ruleGroups(r) {
		// Also of a rule about the mean, which lies between both ends: they are at least as far apart as a value from it.
		beyond := bound{lowerQuantity: g.lowestValue(), rightQuantity: g.highestValue(), limit: -most, isStrict: true,
			isRounded: r.FromMean}
		ways = append(ways, way{numberBounds: []bound{beyond}, presentGroups: []group{g}})
	}
	return ways
}

// differentWays returns the ways of different: the values of two players differ.
func (s *satisfier) differentWays(c *claim) (ways []way) {
	all := way{}
	for _, g := range s.ruleGroups(c.rule) {
		pairs := quantity{"equal pairs", g}
		least, most := s.playerRange(g.teamIndex, g.roleName)
		all.numberBounds = append(all.numberBounds, bound{lowerQuantity: pairs})
		// Of two or more players with different values, one has the lowest and another one the highest.
		if least > 1 && s.alwaysHasValue(g) {
			all.numberBounds = append(all.numberBounds,
				bound{lowerQuantity: g.lowestValue(), rightQuantity: g.highestValue(), isStrict: true})
		}
		equal := upTo(c, pairs, 0)
		// The only two players are the equal pair.
		if most == 2 {
			equal[0].numberBounds = append(equal[0].numberBounds,
				bound{lowerQuantity: g.highestValue(), rightQuantity: g.lowestValue()})
		}
		ways = append(ways, equal...)
	}
	if c.isNegated {
		return ways
	}
	return []way{all}
}

// balanceWays returns the ways of balance: the values of all teams are between two numbers that differ by at most the
// limit.
func (s *satisfier) balanceWays(c *claim, most float64) []way {
	r, match := c.rule, s.groupOf(c.rule, wholeMatch)
	isRounded := r.Teams == FoldMean || r.Teams == FoldSum
	ways := upTo(c, quantity{"balance by " + balances.wordFor(r.Teams), match}, most)
	if c.isNegated {
		// Means, minima and maxima of teams are between the lowest and the highest number of the match; sums are not.
		if r.Teams != FoldSum {
			ways[0].numberBounds = append(ways[0].numberBounds,
				bound{lowerQuantity: match.lowestValue(), rightQuantity: match.highestValue(), limit: -most,
					isStrict: true, isRounded: isRounded})
		}
		return ways
	}
	// A bound compares two quantities; these two enclose the values of all teams.
	top, bottom := quantity{name: "greatest of " + r.ID}, quantity{name: "least of " + r.ID}
	ways[0].numberBounds = append(ways[0].numberBounds,
		bound{lowerQuantity: top, rightQuantity: bottom, limit: most, isRounded: isRounded})
	for team := range s.p.Teams {
		value := quantityTaken(r.Teams, s.groupOf(r, team))
		ways[0].numberBounds = append(ways[0].numberBounds, bound{lowerQuantity: value, rightQuantity: top},
			bound{lowerQuantity: bottom, rightQuantity: value})
	}
	return ways
}

// sizesWays returns the ways of sizes: the sizes of all teams are between two numbers that differ by at most the limit.
func (s *satisfier) sizesWays(c *claim, most float64) []way {
	// One quantity for all such rules of the profile, so that they can contradict each other.
	difference := quantity{name: "difference of sizes"}
	ways := upTo(c, difference, most)
	if c.isNegated {
		// A rule that must not hold needs sizes farther apart than the teams may allow.
		apart := s.mostApart()
		ways[0].factBounds = []bound{{lowerQuantity: difference, limit: float64(apart),
			factText: fmt.Sprintf("the sizes of two teams differ by at most %d", apart)}}
		return ways
	}
	top, bottom := quantity{name: "largest team"}, quantity{name: "smallest team"}
	ways[0].numberBounds = append(ways[0].numberBounds, bound{lowerQuantity: top, rightQuantity: bottom, limit: most})
	for team := range s.p.Teams {
		size := quantity{playersName, group{teamIndex: team}}
		ways[0].numberBounds = append(ways[0].numberBounds, bound{lowerQuantity: size, rightQuantity: top},
			bound{lowerQuantity: bottom, rightQuantity: size})
	}
	return ways
}

// mostApart returns the greatest difference that the sizes of two teams can have.
func (s *satisfier) mostApart() (apart int) {
	for i := range s.p.Teams {
		for j := range s.p.Teams {
			least, _ := s.playerRange(j, "")
			if i != j {
				apart = max(apart, s.p.Teams[i].Max-least)
			}
		}
	}
	return apart
}

// partyWays returns the ways of party_sizes: the largest parties of the teams differ by at most the limit.
func (s *satisfier) partyWays(c *claim, most float64) []way {
	largest := 0
	for _, t := range s.p.Teams {
		largest = max(largest, t.Max)
	}
	difference := quantity{name: "difference of parties"}
	ways := upTo(c, difference, most)
	// A team that has players has a largest party, of one player at least.
	ways[0].factBounds = []bound{{lowerQuantity: difference, limit: float64(largest - 1),
		factText: fmt.Sprintf("a party in a team has 1 to %d players", largest)}}
	return ways
}

// commonWays returns the ways of common: so many values are in every list. Where nobody has a list, the rule holds.
func (s *satisfier) commonWays(c *claim, l Limits) []way {
	shared := quantity{"values in all lists", s.groupOf(c.rule, wholeMatch)}
	if c.isNegated {
		return []way{{numberBounds: []bound{{lowerQuantity: shared, limit: float64(l.AtLeast - 1)}},
			presentGroups: []group{shared.group}}}
	}
	return []way{{numberBounds: []bound{{rightQuantity: shared, limit: -float64(l.AtLeast)}}}}
}

// countWays returns the ways of count: so many players of each group have one of the values.
func (s *satisfier) countWays(c *claim, l Limits) (ways []way) {
	all := way{}
	for _, g := range s.ruleGroups(c.rule) {
		n := countedQuantity(g, c.rule.AnyOf)
		all.numberBounds = append(all.numberBounds, bound{rightQuantity: n, limit: -float64(l.Min)})
		ways = append(ways, way{numberBounds: []bound{{lowerQuantity: n, limit: float64(l.Min - 1)}}})
		if l.Max < NoMax {
			all.numberBounds = append(all.numberBounds, bound{lowerQuantity: n, limit: float64(l.Max)})
			ways = append(ways, way{numberBounds: []bound{{rightQuantity: n, limit: -float64(l.Max + 1)}}})
		}
	}
	if c.isNegated {
		return ways
	}
	return []way{all}
}

// latencyWays returns the ways of latency: every player measured the game region of the match, and their latencies are
// low and close enough.
func latencyWays(c *claim, l Limits) (ways []way) {
	g := group{column: latencyColumn, teamIndex: wholeMatch}
	// 1 if everybody measured it, else 0.
	measured := quantity{name: "region measured by all"}
	value, spread := quantityTaken(FoldMax, g), float64(l.Spread)
	if c.rule.TakeMean {
		value = quantityTaken(FoldMean, g)
	}
	if !c.isNegated {
		w := way{numberBounds: []bound{{lowerQuantity: value, limit: float64(l.Latency)},
			{rightQuantity: measured, limit: -1}},
			presentGroups: []group{g}}
		if l.Spread != NoSpread {
			w.numberBounds = append(w.numberBounds,
				bound{lowerQuantity: g.highestValue(), rightQuantity: g.lowestValue(), limit: spread})
		}
		return []way{w}
	}
	ways = []way{
		// The rule does not hold: somebody did not measure the region, is too far from it, or from another player.
		{numberBounds: []bound{{lowerQuantity: measured}}},
		{numberBounds: []bound{{rightQuantity: value, limit: -float64(l.Latency), isStrict: true}},
			presentGroups: []group{g}},
	}
	if l.Spread != NoSpread {
		ways = append(ways, way{numberBounds: []bound{{lowerQuantity: g.lowestValue(), rightQuantity: g.highestValue(),
			limit: -spread, isStrict: true}},
			presentGroups: []group{g}})
	}
	return ways
}
