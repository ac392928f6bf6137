package profile

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/lattice-director/director/match"
)

// convertProfile reads the whole document. It leaves out values that have problems: see goodValue.
func (c *converter) convertProfile(n *node) {
	p := c.p
	p.Name = n.goodValue("name").textOrEmpty()
	if p.Name == "schema" {
		c.report.addProblem(n.valueOf("name"), "the name schema is not allowed: /ops/profiles/schema is something else")
	}
	if mode := n.goodValue("mode"); mode != nil {
		p.Modes = mode.textList()
		// A mode alone is a list of one.
		if mode.kind == isText {
			p.Modes = []string{mode.plainText}
		}
	}
	// An empty mapping is a pool as well, which holds all tickets that name no profile.
	p.Pool = convertPool(c, n.goodValue("pool"))
	c.usePool(n.goodValue("pool"))
	// Attributes, teams and roles are read before the rules, which name them.
	p.Attributes = c.convertDeclared(n.goodValue("attributes"))
	c.convertFunction(n)
	c.convertTeams(n.goodValue("teams"))
	c.convertFewer(n.goodValue("fewer"))
	c.convertBots(n.goodValue("fill"))
	p.Autofill = n.goodValue("autofill").durationOr(0)
	if c.teamsKnown && p.Autofill > 0 && len(c.roleNames) == 0 {
		c.report.addProblem(n.valueOf("autofill"), "autofill has no meaning here: no team has roles")
	}
	p.Age = ages.valueOf(n.goodValue("age"), Oldest)
	c.convertRules(n.valueOf("rules"))
	c.convertPreferences(n.valueOf("prefer"))
	// After the teams: only then is it known whether the profile needs roles of players.
	c.checkReserved(n.goodValue("attributes"))
	c.convertChoosing(n)
	p.Accept = n.goodValue("accept").goodValue("within").durationOr(0)
	p.LatencyJump = n.goodValue("latency_jump").durationOr(0)
	p.TTL = n.goodValue("ttl").durationOr(10 * time.Minute)
	// data: null is no data, so that game servers need not distinguish the two.
	if data := n.goodValue("data"); data != nil && data.kind != isNull {
		p.Data = encodeJSON(data.jsonValue())
	}
	p.Tell = n.goodValue("tell").textList()
	if !n.hasKey("tell") {
		p.Tell = c.messageAttributes()
	}
	p.Regions = n.goodValue("regions").textList()
}

// convertFunction reads the function, and reports keys that have no meaning beside it.
func (c *converter) convertFunction(n *node) {
	// A function with a problem counts, too: its author need not hear that teams are missing.
	f := n.valueOf("function")
	if f == nil {
		if !n.hasKey("teams") {
			c.report.addProblem(n, "a profile needs the key teams, or function")
		}
		return
	}
	// Refused rather than ignored: an author who writes rules expects that they hold.
	for i, k := range n.objectKeys {
		if slices.Contains([]string{"teams", "rules", "prefer", "fewer", "fill", "autofill", "age", "trade", "batch",
			"priority", "order", "join_in_progress"}, k.name) {
			c.report.addAt(k.line, k.column, n.itemNodes[i].path,
				"a profile with a function has no %s: the function decides", k.name)
		}
	}
	c.p.Function = &Function{
		Host: f.goodValue("host").textOrEmpty(), Port: f.goodValue("port").wholeOr(0),
		Type:  functions.valueOf(f.goodValue("type"), GRPC),
		Every: f.goodValue("every").durationOr(time.Second),
	}
}

// convertPool reads the pool.
func convertPool(c *converter, n *node) *match.Pool {
	if n == nil {
		return nil
	}
	p := &match.Pool{Tags: n.goodValue("tags").textList()}
	slices.Sort(p.Tags)
	if all := n.goodValue("strings"); all != nil {
		for i, value := range all.itemNodes {
			p.Strings = append(p.Strings, match.StringEquals{Arg: all.objectKeys[i].name, Value: value.plainText})
		}
	}
	if all := n.goodValue("doubles"); all != nil {
		for i, value := range all.itemNodes {
			p.Doubles = append(p.Doubles, c.convertDouble(all.objectKeys[i].name, value))
		}
	}
	// Sorted, so that documents that mean the same have one canonical form.
	slices.SortFunc(p.Strings, func(a, b match.StringEquals) int { return cmp.Compare(a.Arg, b.Arg) })
	slices.SortFunc(p.Doubles, func(a, b match.DoubleRange) int { return cmp.Compare(a.Arg, b.Arg) })
	return p
}

func (c *converter) convertDouble(arg string, n *node) match.DoubleRange {
	d := match.DoubleRange{Arg: arg, Min: math.Inf(-1), Max: math.Inf(1),
		Exclude: excludes.valueOf(n.goodValue("exclude"), match.ExcludeNone)}
	if least := n.goodValue("min"); least != nil {
		d.Min = least.numberValue
	}
	if most := n.goodValue("max"); most != nil {
		d.Max = most.numberValue
	}
	switch {
	case d.Min > d.Max:
		c.report.addProblem(n, "min %s is greater than max %s: no ticket is in this range", shortestNumber(d.Min),
			shortestNumber(d.Max))
	// Earlier releases have accepted such a range, which must stay readable.
	case d.Min == d.Max && d.Exclude != match.ExcludeNone && !c.report.isStored:
		c.report.addProblem(n, "min and max are %s, which exclude leaves out: no ticket is in this range",
			shortestNumber(d.Min))
	}
	return d
}

// convertChoosing reads what decides between candidates.
func (c *converter) convertChoosing(n *node) {
	// The word oldest is the default: no batch.
	if batch := n.goodValue("batch"); batch != nil && batch.kind == isObject {
		c.p.Batch = Batch{Attribute: batch.goodValue("by").textOrEmpty(),
			For: batch.goodValue("for").durationOr(30 * time.Second)}
		c.useAttribute(batch.goodValue("by"), numbers, "batch")
	}
	if priority := n.goodValue("priority"); priority != nil {
		c.p.Priority = Priority{Attribute: priority.goodValue("by").textOrEmpty(),
			UpTo: priority.goodValue("up_to").durationOr(0)}
		c.useAttribute(priority.goodValue("by"), numbers, "priority")
	}
	if order := n.goodValue("order"); order != nil {
		for _, item := range order.itemNodes {
			c.p.Order = append(c.p.Order, c.convertOrder(item))
		}
	}
	// Trades are read after all other uses of attributes: a trade of an attribute that nothing else uses is refused.
	c.convertTrades(n.goodValue("trade"))
	// A word alone is the same as a mapping with this word as when.
	join := n.goodValue("join_in_progress")
	if join != nil && join.kind == isObject {
		c.p.JoinInProgress = JoinInProgress{When: joinings.valueOf(join.goodValue("when"), Never),
			Within: join.goodValue("within").durationOr(0)}
		return
	}
	c.p.JoinInProgress.When = joinings.valueOf(join, Never)
}

func (c *converter) convertOrder(n *node) Order {
	o := Order{Distance: n.goodValue("distance").textOrEmpty(), Value: n.goodValue("value").textOrEmpty()}
	if d := n.goodValue("descending"); d != nil {
		o.Descending = d.flagValue
	}
	// It has both or neither.
	if n.hasKey("distance") == n.hasKey("value") {
		c.report.addProblem(n, "a criterion of order needs either distance or value")
	}
	c.useAttribute(n.goodValue("distance"), numbers, "order")
	c.useAttribute(n.goodValue("value"), numbers, "order")
	return o
}
