package profile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// largeMatch is the number of players above which a match is not searched for, but filled along one attribute. Only
// some kinds of rules are possible then.
const largeMatch = 40

// within is where a rule stands.
type within struct {
	ruleID     string // of the rule around it; "" at the top
	defaultAge Age    // its default
	belowNot   bool   // somewhere below not
	// isPreferred says that the rule is a preference, or within one.
	isPreferred bool
}

func (c *converter) convertRules(n *node) {
	if n == nil || n.kind != isList {
		return
	}
	for _, item := range n.itemNodes {
		if item.isValid() {
			c.p.Rules = append(c.p.Rules, c.convertRule(item, within{defaultAge: c.p.Age}))
		}
	}
	c.checkRules(n)
}

func (c *converter) checkRules(n *node) {
	if c.ruleCount > maxRules {
		c.report.addProblem(n, "%d rules are too many: a profile has at most %d, counting those within or, and, not, and preferences", c.ruleCount, maxRules)
	}
}

// convertPreferences reads the preferences.
func (c *converter) convertPreferences(n *node) {
	if n == nil || n.kind != isList {
		return
	}
	for _, item := range n.itemNodes {
		if !item.isValid() {
			continue
		}
		p := Preference{Rule: c.convertRule(item.valueOf("rule"),
			within{ruleID: "prefer", defaultAge: c.p.Age, isPreferred: true}), Weight: 1}
		if weight := item.valueOf("weight"); weight != nil {
			p.Weight = weight.numberValue
		}
		c.p.Prefer = append(c.p.Prefer, p)
	}
	c.checkRules(n)
}

// convertRule reads a rule that its shape has accepted.
func (c *converter) convertRule(n *node, in within) Rule {
	c.ruleCount++
	kind, _ := kindOf(c.report, n)
	r := Rule{Kind: kind.kind, Role: n.valueOf("role").textOrEmpty(), PerTeam: n.valueOf("per").textOrEmpty() == "team",
		Age: ages.valueOf(n.valueOf("age"), in.defaultAge)}
	main := n.valueOf(kind.kindKey)
	c.convertLimits(&r, n, main)
	c.convertMeasure(&r, n, main)
	c.nameRule(&r, n, kind, in)
	c.ruleNodes[r.ID] = n
	c.convertMissing(&r, n, in)
	c.checkSetting(n, kind, &r)
	// After the name: rules within get theirs from it.
	c.convertInner(&r, main, within{ruleID: r.ID, defaultAge: r.Age, belowNot: in.belowNot || r.Kind == Not,
		isPreferred: in.isPreferred})
	c.convertWiden(&r, n.valueOf("widen"), kind, in)
	return r
}

// convertInner reads the rules of or, and, not.
func (c *converter) convertInner(r *Rule, main *node, in within) {
	switch r.Kind {
	case Or, And:
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

// convertLimits reads the limits before any step.
func (c *converter) convertLimits(r *Rule, n, main *node) {
	switch r.Kind {
	case Near:
		c.convertWithin(r, n)
	case Balance:
		r.Within = n.valueOf("within").numberValue
	case Sizes, PartySizes:
		r.Within = main.numberValue
	case Comparison:
		if to := n.valueOf("to"); to.kind == isNumber {
			r.Number = to.numberValue
		}
	case Common:
		r.AtLeast = n.valueOf("at_least").wholeOr(1)
	case Count:
		r.Min, r.Max = n.valueOf("min").wholeOr(0), n.valueOf("max").wholeOr(NoMax)
		if !n.hasKey("min") && !n.hasKey("max") {
			c.report.addProblem(n, "a rule of the kind \"count\" needs min, max or both")
		}
		c.checkCount(n, r.Limits)
	case Latency:
		r.Latency, r.Spread = main.parsedDuration(), n.valueOf("spread").durationOr(NoSpread)
	default: // the other kinds have no limits
	}
}

// convertWithin reads the limit of near, or the attribute in which tickets have one of their own.
func (c *converter) convertWithin(r *Rule, n *node) {
	limit, most := n.valueOf("within"), n.valueOf("up_to")
	if limit.kind == isNumber {
		r.Within = limit.numberValue
		if most != nil {
			c.report.addProblem(most, "up_to has no meaning here: within is a number, not ticket.NAME")
		}
		return
	}
	r.Tolerance = strings.TrimPrefix(limit.plainText, "ticket.")
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
	r.Within, r.Age = most.numberValue, Each
}

// checkCount reports limits of count that no match keeps.
func (c *converter) checkCount(n *node, l Limits) {
	if l.Min > l.Max {
		c.report.addProblem(n, "min %d is greater than max %d", l.Min, l.Max)
	}
	if c.teamsKnown && l.Min > c.mostPlayer {
		c.report.addProblem(n, "min %d is not allowed: a match has at most %s", l.Min, playersIn(c.mostPlayer))
	}
}

// convertMeasure reads what is compared.
func (c *converter) convertMeasure(r *Rule, n, main *node) {
	kinds := kindSet(0)
	switch r.Kind {
	case Near, Balance:
		kinds = numbers
	case Same, Different:
		kinds = numbers | texts
	case Common, Avoid:
		kinds = lists
	case Count:
		kinds = texts | lists
		r.AnyOf = n.valueOf("any_of").textList()
	case Comparison:
		c.convertCompare(r, n, main)
	case Latency:
		r.TakeMean = n.valueOf("take").textOrEmpty() == "mean"
	default: // the other kinds have no attribute
	}
	r.ByRole = c.byRole(n.valueOf("by_role"))
	if r.Rates() && r.Role != "" {
		c.report.addProblem(n.valueOf("role"),
			"role has no meaning beside by_role: only players in one role count, so name their attribute")
	}
	if kinds != 0 {
		r.Attribute = main.plainText
		c.useAttribute(main, kinds, shapeOf(r.Kind).kindKey)
	}
	if r.Kind == Balance {
		r.Teams = balances.valueOf(n.valueOf("teams"), FoldMean)
	}
	r.FromMean = n.valueOf("from").textOrEmpty() == "mean"
	r.Party = parties.valueOf(n.valueOf("party"), FoldEach)
	if r.Kind == Common && r.Party == FoldEach {
		r.Party = Intersect
	}
}

func (c *converter) convertCompare(r *Rule, n, main *node) {
	r.Compare = &Compare{Measure: c.measureOf(main), Operator: operators.valueOf(n.valueOf("is"), Equal)}
	if to := n.valueOf("to"); to.kind == isObject {
		m := c.measureOf(to)
		if m.Take == FoldEach {
			c.report.addProblem(to, "each is not allowed on this side: take sum, mean, min, max or count")
		}
		r.Compare.Against = &m
	}
}

func (c *converter) measureOf(n *node) Measure {
	m := Measure{Take: takes.valueOf(n.valueOf("take"), FoldEach), Attribute: n.valueOf("of").textOrEmpty(),
		Team:   n.valueOf("in").textOrEmpty(),
		ByRole: c.byRole(n.valueOf("by_role"))}
	if m.Team == "match" {
		m.Team = ""
	}
	if m.Team != "" && c.teamsKnown && !slices.ContainsFunc(c.p.Teams, func(t Team) bool { return t.Name == m.Team }) {
		c.report.addProblem(n.valueOf("in"), "there is no team %q: there are match, %s", m.Team, oneOf(c.teamNames()))
	}
	if m.Take == FoldCount {
		// Players are counted who have a value of any type.
		c.useAttribute(n.valueOf("of"), every, "compare")
		if m.ByRole != nil {
			c.report.addProblem(n.valueOf("by_role"),
				"by_role has no meaning here: players are counted, not their numbers")
		}
		return m
	}
	if m.Attribute == "" {
		c.report.addProblem(n, "%s needs the key of: an attribute", takes.wordFor(m.Take))
	}
	c.useAttribute(n.valueOf("of"), numbers, "compare")
	return m
}

// byRole reads the attributes that count in place of another one for players in a role.
func (c *converter) byRole(n *node) (all []RoleAttribute) {
	if n == nil {
		return nil
	}
	for i, item := range n.itemNodes {
		if role := n.objectKeys[i]; c.teamsKnown && !c.roleNames[role.name] {
			c.report.addAt(role.line, role.column, item.path, "no team has a role %q", shortenText(role.name))
		}
		c.useAttribute(item, numbers, "by_role")
		all = append(all, RoleAttribute{n.objectKeys[i].name, item.plainText})
	}
	slices.SortFunc(all, func(a, b RoleAttribute) int { return cmp.Compare(a.Role, b.Role) })
	return all
}

func (c *converter) teamNames() []string {
	names := make([]string, len(c.p.Teams))
	for i, t := range c.p.Teams {
		names[i] = t.Name
	}
	return names
}

// nameRule sets the rule's id. Below or, and, not a number makes ids of the same kind and attribute unique; at the top,
// their author does.
func (c *converter) nameRule(r *Rule, n *node, kind ruleShape, in within) {
	r.ID = n.valueOf("id").textOrEmpty()
	given := r.ID != ""
	if !given {
		r.ID = in.defaultID(kind.kindKey, r)
		for i := 2; in.ruleID != "" && c.ruleIDs[r.ID]; i++ {
			r.ID = fmt.Sprintf("%s-%d", in.defaultID(kind.kindKey, r), i)
		}
	}
	switch {
	case len([]rune(r.ID)) > maxID:
		c.report.addProblem(n, "this rule needs an id: the one made of its kind and attribute has more than %d characters",
			maxID)
	case c.ruleIDs[r.ID] && given:
		c.report.addProblem(n.valueOf("id"), "%q is the id of another rule", shortenText(r.ID))
	case c.ruleIDs[r.ID]:
		c.report.addProblem(n, "this rule and another one would both be called %q: give one of them an id",
			shortenText(r.ID))
	}
	c.ruleIDs[r.ID] = true
}

func (in within) defaultID(kind string, r *Rule) string {
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
func (c *converter) convertMissing(r *Rule, n *node, in within) {
	m := n.valueOf("missing")
	measured := r.Measured()
	switch {
	case in.isPreferred && m != nil && m.kind == isText && m.plainText == "fail":
		c.report.addProblem(m, "fail is not allowed: a preference excludes no ticket; write pass or a value")
	case m == nil:
		r.Missing.Pass = r.Kind == Avoid // who lists nobody avoids nobody
	case m.kind == isText && (m.plainText == "pass" || m.plainText == "fail"):
		r.Missing.Pass = m.plainText == "pass"
	case len(measured) == 0:
		c.report.addProblem(m, "missing has no meaning here: the rule has no attribute")
	default:
		r.Missing.Value = c.useValue(m, measured[0], every)
	}
	// With a value in its place as well: whoever has a value of another type is left out.
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
	if slices.Contains([]RuleKind{Balance, Sizes, PartySizes}, r.Kind) && len(c.p.Teams) < 2 {
		c.report.addProblem(n, "a rule of the kind %q compares teams: the match has one", kind.kindKey)
	}
	large := []RuleKind{Same, Near, Latency, Avoid, Balance, Common}
	if c.mostPlayer > largeMatch && !slices.Contains(large, r.Kind) {
		c.report.addProblem(n, "a rule of the kind %q is for matches of at most %d players, and this one has %d; larger ones have "+
			"same, near, latency, avoid, balance and common",
			kind.kindKey, largeMatch, c.mostPlayer)
	}
}
