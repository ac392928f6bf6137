package profile

import (
	"fmt"
	"slices"
)

// largeMatch is the number of players above which a match is not searched for, but filled along one attribute. Only
// some kinds of rules are possible then.
const largeMatch = 40

// convertRules reads the rules.
func (c *converter) convertRules(n *node) {
	// A list with bad rules is read as well, to report problems of the others.
	if n == nil || n.kind != isList {
		return
	}
	for _, item := range n.itemNodes {
		if item.isValid() {
			c.p.Rules = append(c.p.Rules, c.convertRule(item, rulePlace{defaultAge: c.p.Age}))
		}
	}
	// A list that is too long by itself, the shape has reported.
	if len(n.itemNodes) <= maxRules {
		c.checkRuleCount(n)
	}
}

// checkRuleCount reports too many rules, those within others and preferences included.
func (c *converter) checkRuleCount(n *node) {
	if c.ruleCount > maxRules {
		c.report.addProblem(n, "%d rules are too many: a profile has at most %d, "+
			"counting those within or, and, not, and preferences", c.ruleCount, maxRules)
	}
}

// convertPreferences reads the preferences.
func (c *converter) convertPreferences(n *node) {
	// As in convertRules, a list with bad items is read as well.
	if n == nil || n.kind != isList {
		return
	}
	before := c.ruleCount
	for _, item := range n.itemNodes {
		if !item.isValid() {
			continue
		}
		p := Preference{Rule: c.convertRule(item.valueOf("rule"),
			rulePlace{ruleID: "prefer", defaultAge: c.p.Age, isPreferred: true}), Weight: 1}
		if weight := item.valueOf("weight"); weight != nil {
			p.Weight = weight.numberValue
		}
		c.p.Prefer = append(c.p.Prefer, p)
	}
	// Too many rules without preferences were reported by convertRules.
	if before <= maxRules {
		c.checkRuleCount(n)
	}
}

// convertRule reads a rule that its shape has accepted.
func (c *converter) convertRule(n *node, in rulePlace) Rule {
	c.ruleCount++
	// The rule has exactly one kind, else its shape had refused it.
	kind, _ := kindOf(c.report, n)
	r := Rule{Kind: kind.kind, Role: n.valueOf("role").textOrEmpty(), PerTeam: n.valueOf("per").textOrEmpty() == "team",
		Age: ages.valueOf(n.valueOf("age"), in.defaultAge)}
	main := n.valueOf(kind.kindKey)
	c.convertLimits(&r, n, main)
	c.convertMeasure(&r, n, main)
	c.nameRule(&r, n, kind, in)
	c.ruleNodes[r.ID] = n // for reportContradictions
	c.convertMissing(&r, n, in)
	c.checkSetting(n, kind, &r)
	// After nameRule: the ids of rules within begin with this one's.
	c.convertInner(&r, main, rulePlace{ruleID: r.ID, defaultAge: r.Age, belowNot: in.belowNot || r.Kind == Not,
		isPreferred: in.isPreferred})
	c.convertWiden(&r, n.valueOf("widen"), kind, in)
	return r
}

// convertInner reads the rules of or, and, not.
func (c *converter) convertInner(r *Rule, main *node, in rulePlace) {
	switch r.Kind {
	case Or, And:
		// The shape allows an empty list, since the rules of a profile may be one.
		if len(main.itemNodes) == 0 {
			c.report.addProblem(main, "an empty list is not allowed: 1 to 8 rules")
		}
		for _, item := range main.itemNodes {
			r.Rules = append(r.Rules, c.convertRule(item, in))
		}
	case Not:
		r.Rules = []Rule{c.convertRule(main, in)}
	default: // the other kinds have no rules within
	}
}

// nameRule sets the rule's id. Below or, and, not a number makes ids of the same kind and attribute unique; at the top,
// their author does.
func (c *converter) nameRule(r *Rule, n *node, kind ruleShape, in rulePlace) {
	r.ID = n.valueOf("id").textOrEmpty()
	isGiven := r.ID != ""
	if !isGiven {
		r.ID = in.defaultID(kind.kindKey, r)
		for i := 2; in.ruleID != "" && c.ruleIDs[r.ID]; i++ {
			r.ID = fmt.Sprintf("%s-%d", in.defaultID(kind.kindKey, r), i)
		}
	}
	switch {
	case len([]rune(r.ID)) > maxID:
		c.report.addProblem(n, "this rule needs an id: the one made of its kind and attribute has more than %d characters",
			maxID)
	case c.ruleIDs[r.ID] && isGiven:
		c.report.addProblem(n.valueOf("id"), "%q is the id of another rule", shortenText(r.ID))
	case c.ruleIDs[r.ID]:
		c.report.addProblem(n, "this rule and another one would both be called %q: give one of them an id",
			shortenText(r.ID))
	}
	c.ruleIDs[r.ID] = true
}

// defaultID returns the id of a rule without one: that of the rule around it, the kind and the first attribute.
func (in rulePlace) defaultID(kind string, r *Rule) string {
	id := kind
	if measured := r.Measured(); len(measured) > 0 {
		id += "-" + measured[0]
	}
	if in.ruleID != "" {
		id = in.ruleID + "/" + id
	}
	return id
}

// convertMissing reads what the rule does about players without its attribute.
func (c *converter) convertMissing(r *Rule, n *node, in rulePlace) {
	m := n.valueOf("missing")
	measured := r.Measured()
	isWord := m != nil && m.kind == isText && (m.plainText == "pass" || m.plainText == "fail")
	switch {
	case in.isPreferred && isWord && m.plainText == "fail":
		c.report.addProblem(m, "fail is not allowed: a preference excludes no ticket; write pass or a value")
	case m == nil:
		r.Missing.Pass = r.Kind == Avoid // a player who lists nobody avoids nobody
	case len(measured) == 0:
		// An earlier release has ignored the two words where there is no attribute that a player can lack.
		if !isWord || !c.report.isStored {
			c.report.addProblem(m, "missing has no meaning here: the rule has no attribute")
		}
	// Before values: these two words cannot stand in for a text.
	case isWord:
		r.Missing.Pass = m.plainText == "pass"
	default:
		r.Missing.Value = c.useValue(m, measured[0], anyKind)
	}
	// A preference passes beside a stand-in, too: it leaves out players whose own value has another type.
	r.Missing.Pass = r.Missing.Pass || in.isPreferred
}

// checkSetting reports a rule that does not suit the teams.
func (c *converter) checkSetting(n *node, kind ruleShape, r *Rule) {
	if !c.teamsKnown {
		return
	}
	if r.Role != "" && !c.roleNames[r.Role] {
		c.report.addProblem(n.valueOf("role"), "no team has a role %q", shortenText(r.Role))
	}
	// Such a rule would hold for every match: its author has forgotten the second team.
	if slices.Contains([]RuleKind{Balance, Sizes, PartySizes}, r.Kind) && len(c.p.Teams) < 2 {
		c.report.addProblem(n, "a rule of the kind %q compares teams: the match has one", kind.kindKey)
	}
	large := []RuleKind{Same, Near, Latency, Avoid, Balance, Common}
	if c.mostPlayers > largeMatch && !slices.Contains(large, r.Kind) {
		c.report.addProblem(n, "a rule of the kind %q is for matches of at most %d players, and this one has %d; larger ones have "+
			"same, near, latency, avoid, balance and common", kind.kindKey, largeMatch, c.mostPlayers)
	}
}
