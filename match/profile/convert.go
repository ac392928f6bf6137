package profile

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/lattice-director/director/match"
)

// converter makes a Profile of a document, and reports what no single value shows: names that do not exist, sizes that
// cannot be reached, steps that do not ascend. It leaves out what the check by shapes has reported.
type converter struct {
	report     *report
	p          *Profile
	attributes map[string]use
	firstUses  map[string]firstUse // of attributes, declared or not
	saysFrom   map[string]bool     // of declared attributes: the document says from whom they are
	teamsKnown bool                // the teams are right, so that rules can be checked against them
	byName     map[string][]int    // indexes in p.Teams, by the name in the document
	roles      map[string]bool     // of all teams
	mostPlayer int                 // of a match
	fills      []fill              // teams that are to be filled first
	ids        map[string]bool     // of rules
	ruleCount  int
	nodes      map[string]*node // of rules, by their ids
}

// good returns the value of a key, or nil if it is absent or was reported.
func (n *node) good(name string) *node {
	if v := n.get(name); v.valid() {
		return v
	}
	return nil
}

// str returns the text of a value, or "" for nil.
func (n *node) str() string {
	if n == nil {
		return ""
	}
	return n.text
}

// whole returns the number of a value, or the initial one for nil.
func (n *node) whole(initial int) int {
	if n == nil {
		return initial
	}
	return int(n.number)
}

func (n *node) length(initial time.Duration) time.Duration {
	if n == nil {
		return initial
	}
	return n.duration()
}

func (n *node) texts() []string {
	if n == nil {
		return nil
	}
	var all []string
	for _, item := range n.items {
		all = append(all, item.text)
	}
	return all
}

func (c *converter) profile(n *node) {
	p := c.p
	p.Name = n.good("name").str()
	if p.Name == "schema" {
		c.report.add(n.get("name"), "the name schema is not allowed: /ops/profiles/schema is something else")
	}
	if mode := n.good("mode"); mode != nil {
		p.Modes = mode.texts()
		if mode.kind == isText {
			p.Modes = []string{mode.text}
		}
	}
	p.Pool = pool(c, n.good("pool"))
	c.usePool(n.good("pool"))
	// Rules name attributes, teams and roles: those are read before.
	p.Attributes = c.declared(n.good("attributes"))
	c.function(n)
	c.teams(n.good("teams"))
	c.fewer(n.good("fewer"))
	c.bots(n.good("fill"))
	p.Autofill = n.good("autofill").length(0)
	if c.teamsKnown && p.Autofill > 0 && len(c.roles) == 0 {
		c.report.add(n.get("autofill"), "autofill has no meaning here: no team has roles")
	}
	p.Age = ages.valueOf(n.good("age"), Oldest)
	c.rules(n.get("rules"))
	c.prefer(n.get("prefer"))
	c.reserved(n.good("attributes"))
	c.choosing(n)
	p.Accept = n.good("accept").good("within").length(0)
	p.LatencyJump = n.good("latency_jump").length(0)
	p.TTL = n.good("ttl").length(10 * time.Minute)
	if data := n.good("data"); data != nil && data.kind != isNull {
		p.Data = encodeJSON(data.json())
	}
	p.Tell = n.good("tell").texts()
	if !n.has("tell") {
		p.Tell = c.messages()
	}
	p.Regions = n.good("regions").texts()
}

// function reads the function, and reports keys that have no meaning beside it.
func (c *converter) function(n *node) {
	f := n.get("function")
	if f == nil {
		if !n.has("teams") {
			c.report.add(n, "a profile needs the key teams, or function")
		}
		return
	}
	for i, k := range n.keys {
		if slices.Contains([]string{"teams", "rules", "prefer", "fewer", "fill", "autofill", "age", "trade", "batch",
			"priority", "order", "join_in_progress"}, k.name) {
			c.report.addAt(k.line, k.column, n.items[i].path,
				"a profile with a function has no %s: the function decides", k.name)
		}
	}
	c.p.Function = &Function{
		Host: f.good("host").str(), Port: f.good("port").whole(0), Type: functions.valueOf(f.good("type"), GRPC),
		Every: f.good("every").length(time.Second),
	}
}

// pool reads the pool.
func pool(c *converter, n *node) *match.Pool {
	if n == nil {
		return nil
	}
	p := &match.Pool{Tags: n.good("tags").texts()}
	slices.Sort(p.Tags)
	if all := n.good("strings"); all != nil {
		for i, value := range all.items {
			p.Strings = append(p.Strings, match.StringEquals{Arg: all.keys[i].name, Value: value.text})
		}
	}
	if all := n.good("doubles"); all != nil {
		for i, value := range all.items {
			p.Doubles = append(p.Doubles, c.double(all.keys[i].name, value))
		}
	}
	slices.SortFunc(p.Strings, func(a, b match.StringEquals) int { return cmp.Compare(a.Arg, b.Arg) })
	slices.SortFunc(p.Doubles, func(a, b match.DoubleRange) int { return cmp.Compare(a.Arg, b.Arg) })
	return p
}

func (c *converter) double(arg string, n *node) match.DoubleRange {
	d := match.DoubleRange{Arg: arg, Min: math.Inf(-1), Max: math.Inf(1),
		Exclude: excludes.valueOf(n.good("exclude"), match.ExcludeNone)}
	if least := n.good("min"); least != nil {
		d.Min = least.number
	}
	if most := n.good("max"); most != nil {
		d.Max = most.number
	}
	switch {
	case d.Min > d.Max:
		c.report.add(n, "min %s is greater than max %s: no ticket is in this range", shortest(d.Min), shortest(d.Max))
	case d.Min == d.Max && d.Exclude != match.ExcludeNone && !c.report.isStored:
		c.report.add(n, "min and max are %s, which exclude leaves out: no ticket is in this range", shortest(d.Min))
	}
	return d
}

// choosing reads what decides between candidates.
func (c *converter) choosing(n *node) {
	if batch := n.good("batch"); batch != nil && batch.kind == isObject {
		c.p.Batch = Batch{Attribute: batch.good("by").str(), For: batch.good("for").length(30 * time.Second)}
		c.use(batch.good("by"), numbers, "batch")
	}
	if priority := n.good("priority"); priority != nil {
		c.p.Priority = Priority{Attribute: priority.good("by").str(), UpTo: priority.good("up_to").length(0)}
		c.use(priority.good("by"), numbers, "priority")
	}
	if order := n.good("order"); order != nil {
		for _, item := range order.items {
			c.p.Order = append(c.p.Order, c.order(item))
		}
	}
	c.trade(n.good("trade"))
	join := n.good("join_in_progress")
	if join != nil && join.kind == isObject {
		c.p.JoinInProgress = JoinInProgress{When: joinings.valueOf(join.good("when"), Never),
			Within: join.good("within").length(0)}
		return
	}
	c.p.JoinInProgress.When = joinings.valueOf(join, Never)
}

func (c *converter) order(n *node) Order {
	o := Order{Distance: n.good("distance").str(), Value: n.good("value").str()}
	if d := n.good("descending"); d != nil {
		o.Descending = d.flag
	}
	if n.has("distance") == n.has("value") {
		c.report.add(n, "a criterion of order needs either distance or value")
	}
	c.use(n.good("distance"), numbers, "order")
	c.use(n.good("value"), numbers, "order")
	return o
}
