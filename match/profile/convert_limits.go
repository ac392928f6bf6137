package profile

import "strings"

// convertLimits reads the limits before any step.
func (c *converter) convertLimits(r *Rule, n, main *node) {
	switch r.Kind {
	case Near:
		c.convertWithin(r, n)
	case Balance:
		r.Limits.Within = n.valueOf("within").numberValue
	case Sizes, PartySizes:
		r.Limits.Within = main.numberValue
	case Comparison:
		// Otherwise it is another measure: see convertCompare.
		if to := n.valueOf("to"); to.kind == isNumber {
			r.Limits.Number = to.numberValue
		}
	case Common:
		r.Limits.AtLeast = n.valueOf("at_least").wholeOr(1)
	case Count:
		r.Limits.Min, r.Limits.Max = n.valueOf("min").wholeOr(0), n.valueOf("max").wholeOr(NoMax)
		// A shape can require a key, but not one of two.
		if !n.hasKey("min") && !n.hasKey("max") {
			c.report.addProblem(n, "a rule of the kind \"count\" needs min, max or both")
		}
		c.checkCount(n, r.Limits)
	case Latency:
		r.Limits.Latency, r.Limits.Spread = main.parsedDuration(), n.valueOf("spread").durationOr(NoSpread)
	default: // the other kinds have no limits
	}
}

// convertWithin reads the limit of near, or the attribute in which tickets have one of their own.
func (c *converter) convertWithin(r *Rule, n *node) {
	limit, most := n.valueOf("within"), n.valueOf("up_to")
	if limit.kind == isNumber {
		r.Limits.Within = limit.numberValue
		// Refused rather than ignored: its author expects tolerances of tickets.
		if most != nil {
			c.report.addProblem(most, "up_to has no meaning here: within is a number, not ticket.NAME")
		}
		return
	}
	r.Tolerance = strings.TrimPrefix(limit.plainText, "ticket.")
	// A node of its own, whose text is the name without its prefix, and whose place in problems that of within.
	c.useAttribute(&node{line: limit.line, column: limit.column, path: limit.path, plainText: r.Tolerance}, numbers,
		"within")
	switch {
	case most == nil:
		c.report.addProblem(n, "within %s needs the key up_to: the greatest number that a ticket may have",
			shortenText(limit.plainText))
		return
	case n.hasKey("from"):
		c.report.addProblem(n.valueOf("from"), "from is not allowed with %s: two players are compared",
			shortenText(limit.plainText))
	case n.hasKey("age") && ages.valueOf(n.valueOf("age"), Each) != Each:
		c.report.addProblem(n.valueOf("age"), "only each is allowed with %s: every ticket has a limit of its own",
			shortenText(limit.plainText))
	}
	r.Limits.Within, r.Age = most.numberValue, Each
}

// checkCount reports limits of count that no match keeps.
func (c *converter) checkCount(n *node, l Limits) {
	if l.Min > l.Max {
		c.report.addProblem(n, "min %d is greater than max %d", l.Min, l.Max)
	}
	// While the teams have problems, the size of a match is not known.
	if c.teamsKnown && l.Min > c.mostPlayers {
		c.report.addProblem(n, "min %d is not allowed: a match has at most %s", l.Min, playersIn(c.mostPlayers))
	}
}
