package profile

import (
	"fmt"
	"strings"
)

// String says what a claim demands of a match: "the greatest and the least skill differ by at most 5".
func (c *claim) String() string {
	r := c.rule
	text := c.demand(r, c.limits)
	if r.Role != "" {
		text += " among players in the role " + shorten(r.Role)
	}
	if r.PerTeam {
		if c.negated {
			return "in some team " + text
		}
		return "in each team " + text
	}
	return text
}

func (c *claim) demand(r *Rule, l Limits) string {
	name := shorten(r.Attribute)
	if r.Rates() {
		name += " by role"
	}
	switch r.Kind {
	case Near:
		if r.FromMean {
			return c.sized("a "+name+" differs from the mean by", l.Within)
		}
		return c.sized("the greatest and the least "+name+" differ by", l.Within)
	case Balance:
		return c.sized(fmt.Sprintf("the teams' %s of %s differ by", balances.word(r.Teams), name), l.Within)
	case Sizes:
		return c.sized("the sizes of the teams differ by", l.Within)
	case PartySizes:
		return c.sized("the teams' largest parties differ by", l.Within)
	case Same:
		return c.either("all players have the same "+name, "two players have a different "+name)
	case Different:
		return c.either("all players have a different "+name, "two players have the same "+name)
	case Common:
		return c.either("at least", "fewer than") + fmt.Sprintf(" %d values of %s are in every list", l.AtLeast, name)
	case Count:
		return c.countText(name, l)
	case Comparison:
		return c.either("", "not ") + r.Compare.text(l)
	case Latency:
		return c.latencyText(l)
	case Avoid:
		return c.either("nobody", "somebody") + " is in another's list " + name
	case Or, And, Not:
	}
	return "it holds"
}

func (c *claim) either(holds, not string) string {
	if c.negated {
		return not
	}
	return holds
}

func (c *claim) sized(what string, limit float64) string {
	return fmt.Sprintf("%s %s %s", what, c.either("at most", "more than"), shortest(limit))
}

func (c *claim) countText(name string, l Limits) string {
	text := fmt.Sprintf("%d or more players", l.Min)
	if l.Max < NoMax {
		text = fmt.Sprintf("%d to %d players", l.Min, l.Max)
	}
	return c.either("", "not ") + fmt.Sprintf("%s have %s in %s", text, shorten(strings.Join(c.rule.AnyOf, " or ")),
		name)
}

func (c *claim) latencyText(l Limits) string {
	text := "the greatest"
	if c.rule.TakeMean {
		text = "the mean"
	}
	text += " latency is at most " + brief(l.Latency)
	if l.Spread != NoSpread {
		text += " with a spread of at most " + brief(l.Spread)
	}
	return c.either("", "it is not so that ") + text
}

// text returns the comparison as people write it: "mean of skill in red < 5".
func (c *Compare) text(l Limits) string {
	right := shortest(l.Number)
	if c.Against != nil {
		right = c.Against.text()
	}
	return fmt.Sprintf("%s %s %s", c.Measure.text(), operators.word(c.Operator), right)
}

func (m Measure) text() string {
	words := []string{takes.word(m.Take)}
	switch {
	case m.Take == FoldCount && m.Attribute == "":
		words = []string{"number of players"}
	case m.Take == FoldCount:
		words = []string{"number of players with", shorten(m.Attribute)}
	case m.Take == FoldEach:
		words = []string{"each", shorten(m.Attribute)}
	default:
		words = append(words, "of", shorten(m.Attribute))
	}
	if m.Team != "" {
		words = append(words, "in", m.Team)
	}
	return strings.Join(words, " ")
}
