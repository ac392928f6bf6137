package profile

import (
	"fmt"
	"strings"
)

// String says what a claim demands of a match: "the greatest and the least skill differ by at most 5".
func (c *claim) String() string {
	r := c.rule
	text := c.demandText(r, c.stepLimits)
	if r.Role != "" {
		text += " among players in the role " + shortenText(r.Role)
	}
	if r.PerTeam {
		// Per team, a rule holds in every team: it does not if one team breaks it.
		if c.isNegated {
			return "in some team " + text
		}
		return "in each team " + text
	}
	return text
}

// demandText returns what a claim demands, without the role and the teams, which String adds.
func (c *claim) demandText(r *Rule, l Limits) string {
	name := shortenText(r.Attribute)
	if r.Rates() {
		name += " by role"
	}
	switch r.Kind {
	case Near:
		if r.FromMean {
			return c.sizeText("a "+name+" differs from the mean by", l.Within)
		}
		return c.sizeText("the greatest and the least "+name+" differ by", l.Within)
	case Balance:
		return c.sizeText(fmt.Sprintf("the teams' %s of %s differ by", balances.wordFor(r.Teams), name), l.Within)
	case Sizes:
		return c.sizeText("the sizes of the teams differ by", l.Within)
	case PartySizes:
		return c.sizeText("the teams' largest parties differ by", l.Within)
	case Same:
		return c.chooseText("all players have the same "+name, "two players have a different "+name)
	case Different:
		return c.chooseText("all players have a different "+name, "two players have the same "+name)
	case Common:
		return c.chooseText("at least", "fewer than") +
			fmt.Sprintf(" %d values of %s are in every list", l.AtLeast, name)
	case Count:
		return c.countText(name, l)
	case Comparison:
		return c.chooseText("", "not ") + r.Compare.comparisonText(l)
	case Latency:
		return c.latencyText(l)
	case Avoid:
		return c.chooseText("nobody", "somebody") + " is in another's list " + name
	default: // Or, And, Not: no bound is from these, but from rules within them
		return "it holds"
	}
}

// chooseText returns the words of a claim that holds, or of one that must not.
func (c *claim) chooseText(holds, not string) string {
	if c.isNegated {
		return not
	}
	return holds
}

// sizeText says of a measure that it is at most the limit, or of a claim that is negated that it is more.
func (c *claim) sizeText(what string, limit float64) string {
	return fmt.Sprintf("%s %s %s", what, c.chooseText("at most", "more than"), shortestNumber(limit))
}

// countText says how many players have one of the values.
func (c *claim) countText(name string, l Limits) string {
	text := fmt.Sprintf("%d or more players", l.Min)
	if l.Max < NoMax {
		text = fmt.Sprintf("%d to %d players", l.Min, l.Max)
	}
	return c.chooseText("", "not ") + fmt.Sprintf("%s have %s in %s", text,
		shortenText(strings.Join(c.rule.AnyOf, " or ")), name)
}

// latencyText says how near and how close together the players must be.
func (c *claim) latencyText(l Limits) string {
	text := "the greatest"
	if c.rule.TakeMean {
		text = "the mean"
	}
	text += " latency is at most " + briefDuration(l.Latency)
	if l.Spread != NoSpread {
		text += " with a spread of at most " + briefDuration(l.Spread)
	}
	return c.chooseText("", "it is not so that ") + text
}

// comparisonText returns the comparison as people write it: "mean of skill in red < 5".
func (c *Compare) comparisonText(l Limits) string {
	right := shortestNumber(l.Number)
	if c.Against != nil {
		right = c.Against.text()
	}
	return fmt.Sprintf("%s %s %s", c.Measure.text(), operators.wordFor(c.Operator), right)
}

// text returns the measure in words, such as "mean of skill in red".
func (m Measure) text() string {
	words := []string{takes.wordFor(m.Take)}
	switch {
	case m.Take == FoldCount && m.Attribute == "":
		words = []string{"number of players"}
	case m.Take == FoldCount:
		words = []string{"number of players with", shortenText(m.Attribute)}
	case m.Take == FoldEach:
		words = []string{"each", shortenText(m.Attribute)}
	default:
		words = append(words, "of", shortenText(m.Attribute))
	}
	if m.Team != "" {
		words = append(words, "in", m.Team)
	}
	return strings.Join(words, " ")
}
