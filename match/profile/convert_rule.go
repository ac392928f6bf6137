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
	id  string // of the rule around it; "" at the top
	age Age    // its default
	not bool   // somewhere below not
	// preferred says that the rule is a preference, or within one.
	preferred bool
}

func (c *converter) rules(n *node) {
	if n == nil || n.kind != isList {
		return
	}
	for _, item := range n.items {
		if item.valid() {
			c.p.Rules = append(c.p.Rules, c.rule(item, within{age: c.p.Age}))
		}
	}
	c.checkRules(n)
}

func (c *converter) checkRules(n *node) {
	if c.ruleCount > maxRules {
		c.report.add(n, "%d rules are too many: a profile has at most %d, counting those within or, and, not, and preferences", c.ruleCount, maxRules)
	}
}

// prefer reads the preferences.
func (c *converter) prefer(n *node) {
	if n == nil || n.kind != isList {
		return
	}
	for _, item := range n.items {
		if !item.valid() {
			continue
		}
		p := Preference{Rule: c.rule(item.get("rule"), within{id: "prefer", age: c.p.Age, preferred: true}), Weight: 1}
		if weight := item.get("weight"); weight != nil {
			p.Weight = weight.number
		}
		c.p.Prefer = append(c.p.Prefer, p)
	}
	c.checkRules(n)
}

// rule reads a rule that its shape has accepted.
func (c *converter) rule(n *node, in within) Rule {
	c.ruleCount++
	kind, _ := kindOf(c.report, n)
	r := Rule{Kind: kind.kind, Role: n.get("role").str(), PerTeam: n.get("per").str() == "team",
		Age: ages.valueOf(n.get("age"), in.age)}
	main := n.get(kind.name)
	c.limits(&r, n, main)
	c.measure(&r, n, main)
	c.name(&r, n, kind, in)
	c.nodes[r.ID] = n
	c.missing(&r, n, in)
	c.checkSetting(n, kind, &r)
	// After the name: rules within get theirs from it.
	c.inner(&r, main, within{id: r.ID, age: r.Age, not: in.not || r.Kind == Not, preferred: in.preferred})
	c.widen(&r, n.get("widen"), kind, in)
	return r
}

// inner reads the rules of or, and, not.
func (c *converter) inner(r *Rule, main *node, in within) {
	switch r.Kind {
	case Or, And:
		if len(main.items) == 0 {
			c.report.add(main, "an empty list is not allowed: 1 to 8 rules")
		}
		for _, item := range main.items {
			r.Rules = append(r.Rules, c.rule(item, in))
		}
	case Not:
		r.Rules = []Rule{c.rule(main, in)}
	default: // the other kinds have no rules within
	}
}

// limits reads the limits before any step.
func (c *converter) limits(r *Rule, n, main *node) {
	switch r.Kind {
	case Near:
		c.within(r, n)
	case Balance:
		r.Within = n.get("within").number
	case Sizes, PartySizes:
		r.Within = main.number
	case Comparison:
		if to := n.get("to"); to.kind == isNumber {
			r.Number = to.number
		}
	case Common:
		r.AtLeast = n.get("at_least").whole(1)
	case Count:
		r.Min, r.Max = n.get("min").whole(0), n.get("max").whole(NoMax)
		if !n.has("min") && !n.has("max") {
			c.report.add(n, "a rule of the kind \"count\" needs min, max or both")
		}
		c.checkCount(n, r.Limits)
	case Latency:
		r.Latency, r.Spread = main.duration(), n.get("spread").length(NoSpread)
	default: // the other kinds have no limits
	}
}

// within reads the limit of near, or the attribute in which tickets have one of their own.
func (c *converter) within(r *Rule, n *node) {
	limit, most := n.get("within"), n.get("up_to")
	if limit.kind == isNumber {
		r.Within = limit.number
		if most != nil {
			c.report.add(most, "up_to has no meaning here: within is a number, not ticket.NAME")
		}
		return
	}
	r.Tolerance = strings.TrimPrefix(limit.text, "ticket.")
	c.use(&node{line: limit.line, column: limit.column, path: limit.path, text: r.Tolerance}, numbers, "within")
	switch {
	case most == nil:
		c.report.add(n, "within %s needs the key up_to: the greatest number that a ticket may have",
			shorten(limit.text))
		return
	case n.has("from"):
		c.report.add(n.get("from"), "from is not allowed with %s: two players are compared", shorten(limit.text))
	case n.has("age") && ages.valueOf(n.get("age"), Each) != Each:
		c.report.add(n.get("age"), "only each is allowed with %s: every ticket has a limit of its own",
			shorten(limit.text))
	}
	r.Within, r.Age = most.number, Each
}

// checkCount reports limits of count that no match keeps.
func (c *converter) checkCount(n *node, l Limits) {
	if l.Min > l.Max {
		c.report.add(n, "min %d is greater than max %d", l.Min, l.Max)
	}
	if c.teamsKnown && l.Min > c.mostPlayer {
		c.report.add(n, "min %d is not allowed: a match has at most %s", l.Min, playersIn(c.mostPlayer))
	}
}

// measure reads what is compared.
func (c *converter) measure(r *Rule, n, main *node) {
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
		r.AnyOf = n.get("any_of").texts()
	case Comparison:
		c.compare(r, n, main)
	case Latency:
		r.TakeMean = n.get("take").str() == "mean"
	default: // the other kinds have no attribute
	}
	r.ByRole = c.byRole(n.get("by_role"))
	if r.Rates() && r.Role != "" {
		c.report.add(n.get("role"), "role has no meaning beside by_role: only players in one role count, so name their attribute")
	}
	if kinds != 0 {
		r.Attribute = main.text
		c.use(main, kinds, shapeOf(r.Kind).name)
	}
	if r.Kind == Balance {
		r.Teams = balances.valueOf(n.get("teams"), FoldMean)
	}
	r.FromMean = n.get("from").str() == "mean"
	r.Party = parties.valueOf(n.get("party"), FoldEach)
	if r.Kind == Common && r.Party == FoldEach {
		r.Party = Intersect
	}
}

func (c *converter) compare(r *Rule, n, main *node) {
	r.Compare = &Compare{Measure: c.measureOf(main), Operator: operators.valueOf(n.get("is"), Equal)}
	if to := n.get("to"); to.kind == isObject {
		m := c.measureOf(to)
		if m.Take == FoldEach {
			c.report.add(to, "each is not allowed on this side: take sum, mean, min, max or count")
		}
		r.Compare.Against = &m
	}
}

func (c *converter) measureOf(n *node) Measure {
	m := Measure{Take: takes.valueOf(n.get("take"), FoldEach), Attribute: n.get("of").str(), Team: n.get("in").str(),
		ByRole: c.byRole(n.get("by_role"))}
	if m.Team == "match" {
		m.Team = ""
	}
	if m.Team != "" && c.teamsKnown && !slices.ContainsFunc(c.p.Teams, func(t Team) bool { return t.Name == m.Team }) {
		c.report.add(n.get("in"), "there is no team %q: there are match, %s", m.Team, oneOf(c.teamNames()))
	}
	if m.Take == FoldCount {
		// Players are counted who have a value of any type.
		c.use(n.get("of"), every, "compare")
		if m.ByRole != nil {
			c.report.add(n.get("by_role"), "by_role has no meaning here: players are counted, not their numbers")
		}
		return m
	}
	if m.Attribute == "" {
		c.report.add(n, "%s needs the key of: an attribute", takes.word(m.Take))
	}
	c.use(n.get("of"), numbers, "compare")
	return m
}

// byRole reads the attributes that count in place of another one for players in a role.
func (c *converter) byRole(n *node) (all []RoleAttribute) {
	if n == nil {
		return nil
	}
	for i, item := range n.items {
		if role := n.keys[i]; c.teamsKnown && !c.roles[role.name] {
			c.report.addAt(role.line, role.column, item.path, "no team has a role %q", shorten(role.name))
		}
		c.use(item, numbers, "by_role")
		all = append(all, RoleAttribute{n.keys[i].name, item.text})
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

// name sets the rule's id. Below or, and, not a number makes ids of the same kind and attribute unique; at the top,
// their author does.
func (c *converter) name(r *Rule, n *node, kind ruleShape, in within) {
	r.ID = n.get("id").str()
	given := r.ID != ""
	if !given {
		r.ID = in.defaultID(kind.name, r)
		for i := 2; in.id != "" && c.ids[r.ID]; i++ {
			r.ID = fmt.Sprintf("%s-%d", in.defaultID(kind.name, r), i)
		}
	}
	switch {
	case len([]rune(r.ID)) > maxID:
		c.report.add(n, "this rule needs an id: the one made of its kind and attribute has more than %d characters",
			maxID)
	case c.ids[r.ID] && given:
		c.report.add(n.get("id"), "%q is the id of another rule", shorten(r.ID))
	case c.ids[r.ID]:
		c.report.add(n, "this rule and another one would both be called %q: give one of them an id", shorten(r.ID))
	}
	c.ids[r.ID] = true
}

func (in within) defaultID(kind string, r *Rule) string {
	id := kind
	if measured := r.Measured(); len(measured) > 0 {
		id += "-" + measured[0]
	}
	if in.id != "" {
		id = in.id + "/" + id
	}
	return id
}

// missing reads what the rule does about players without its attribute.
func (c *converter) missing(r *Rule, n *node, in within) {
	m := n.get("missing")
	measured := r.Measured()
	switch {
	case in.preferred && m != nil && m.kind == isText && m.text == "fail":
		c.report.add(m, "fail is not allowed: a preference excludes no ticket; write pass or a value")
	case m == nil:
		r.Missing.Pass = r.Kind == Avoid // who lists nobody avoids nobody
	case m.kind == isText && (m.text == "pass" || m.text == "fail"):
		r.Missing.Pass = m.text == "pass"
	case len(measured) == 0:
		c.report.add(m, "missing has no meaning here: the rule has no attribute")
	default:
		r.Missing.Value = c.useValue(m, measured[0], every)
	}
	// With a value in its place as well: whoever has a value of another type is left out.
	r.Missing.Pass = r.Missing.Pass || in.preferred
}

// checkSetting reports a rule that does not suit the teams.
func (c *converter) checkSetting(n *node, kind ruleShape, r *Rule) {
	if !c.teamsKnown {
		return
	}
	if r.Role != "" && !c.roles[r.Role] {
		c.report.add(n.get("role"), "no team has a role %q", shorten(r.Role))
	}
	if slices.Contains([]RuleKind{Balance, Sizes, PartySizes}, r.Kind) && len(c.p.Teams) < 2 {
		c.report.add(n, "a rule of the kind %q compares teams: the match has one", kind.name)
	}
	large := []RuleKind{Same, Near, Latency, Avoid, Balance, Common}
	if c.mostPlayer > largeMatch && !slices.Contains(large, r.Kind) {
		c.report.add(n, "a rule of the kind %q is for matches of at most %d players, and this one has %d; larger ones have "+
			"same, near, latency, avoid, balance and common",
			kind.name, largeMatch, c.mostPlayer)
	}
}
