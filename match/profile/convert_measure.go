package profile

import (
	"cmp"
	"slices"
)

// convertMeasure reads what a rule compares.
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
		// A text counts as a list of one.
		kinds = texts | lists
		r.AnyOf = n.valueOf("any_of").textList()
	case Comparison:
		c.convertCompare(r, n, main)
	case Latency:
		r.TakeMean = n.valueOf("take").textOrEmpty() == "mean"
	default: // the other kinds have no attribute
	}
	// The keys below are absent where a kind does not have them: its shape has refused them.
	r.ByRole = c.convertByRole(n.valueOf("by_role"))
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
	// Lists have another default, since they have no each.
	if r.Kind == Common && r.Party == FoldEach {
		r.Party = Intersect
	}
}

// convertCompare reads the measures and the operator of a comparison.
func (c *converter) convertCompare(r *Rule, n, main *node) {
	r.Compare = &Compare{Measure: c.measureOf(main), Operator: operators.valueOf(n.valueOf("is"), Equal)}
	if to := n.valueOf("to"); to.kind == isObject {
		m := c.measureOf(to)
		// A comparison of each player's number with each player's would be a rule about pairs, as near is.
		if m.Take == FoldEach {
			c.report.addProblem(to, "each is not allowed on this side: take sum, mean, min, max or count")
		}
		r.Compare.Against = &m
	}
}

func (c *converter) measureOf(n *node) Measure {
	m := Measure{Take: takes.valueOf(n.valueOf("take"), FoldEach), Attribute: n.valueOf("of").textOrEmpty(),
		Team: n.valueOf("in").textOrEmpty(), ByRole: c.convertByRole(n.valueOf("by_role"))}
	// match is the word for all teams, which no team may have as its name: see convertTeams.
	if m.Team == "match" {
		m.Team = ""
	}
	if m.Team != "" && c.teamsKnown && !slices.ContainsFunc(c.p.Teams, func(t Team) bool { return t.Name == m.Team }) {
		c.report.addProblem(n.valueOf("in"), "there is no team %q: there are match, %s", m.Team, oneOf(c.teamNames()))
	}
	if m.Take == FoldCount {
		// Players with a value of any type are counted.
		c.useAttribute(n.valueOf("of"), anyKind, "compare")
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

// convertByRole reads the attributes that count in place of another one for players in a role.
func (c *converter) convertByRole(n *node) (all []RoleAttribute) {
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
	// In the order that Rule.ByRole promises, not in that of the document.
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
