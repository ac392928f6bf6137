package profile

import (
	"math"
	"time"
)

// linear is widening in equal steps. A latency is in nanoseconds.
type linear struct {
	every      time.Duration
	add, until float64
}

// widen reads the steps of a rule.
func (c *converter) widen(r *Rule, n *node, kind ruleShape, in within) {
	switch {
	case n == nil:
	case in.not:
		c.report.add(n, "a rule within not has no widen: it would become stricter with time")
	case in.preferred:
		c.report.add(n, "a preference has no widen: no match waits for it")
	case r.Tolerance != "" && !endsAtOnce(n):
		c.report.add(n, "only one step with within: any is allowed: tickets have limits of their own")
	case n.kind == isObject:
		c.linear(r, n)
	default:
		c.steps(r, n, kind)
	}
}

// endsAtOnce reports whether the first of some steps ends the rule.
func endsAtOnce(n *node) bool {
	return n.kind == isList && (len(n.items) == 0 || anyLimit.takes(n.items[0].good("within")))
}

// steps reads listed steps. A step changes what it names and keeps the rest.
func (c *converter) steps(r *Rule, n *node, kind ruleShape) {
	now, last := r.Limits, time.Duration(0)
	for _, item := range n.items {
		after := item.get("after").duration()
		if after <= last {
			c.report.add(item.get("after"), "%s is not allowed: after ascends, and the step before is at %s",
				item.get("after").text, brief(last))
		}
		if now.Ended {
			c.report.add(item, "no step can follow one that ends the rule with any")
		}
		if len(item.items) < 2 {
			c.report.add(item, "a step needs a new limit: %s", oneOf(stepNames(kind)))
		}
		next := c.step(r, item, now)
		if key := stricter(r, now, next); key != "" && !next.Ended {
			c.report.add(item.get(key), "%s is not allowed: the step before is wider", item.get(key).textShown())
		}
		if r.Kind == Count && !next.Ended {
			c.checkCount(item, next)
		}
		r.Widen = append(r.Widen, Step{AfterWait: after, Limits: next})
		now, last = next, after
	}
}

func stepNames(kind ruleShape) []string { return object{fields: kind.steps}.names() }

// step returns the limits from a step on.
func (c *converter) step(r *Rule, n *node, l Limits) Limits {
	for i, value := range n.items {
		name := n.keys[i].name
		// Of count and latency, these two are one of two bounds: the rule goes on with the other.
		if anyLimit.takes(value) && name != "spread" && name != "max" {
			l.Ended = true
			continue
		}
		switch name {
		case "within", "sizes", "party_sizes":
			l.Within = value.number
		case "to":
			if r.Compare.Against != nil {
				c.report.add(value, "%s is not allowed: the rule compares with a measure, so that only any is",
					value.textShown())
			}
			l.Number = value.number
		case "at_least":
			l.AtLeast = int(value.number)
		case "min":
			l.Min = int(value.number)
		case "max":
			l.Max = NoMax
			if value.kind == isNumber {
				l.Max = int(value.number)
			}
		case "latency":
			l.Latency = value.duration()
		case "spread":
			l.Spread = NoSpread
			if !anyLimit.takes(value) {
				l.Spread = value.duration()
			}
		}
	}
	return l
}

// stricter returns the key by which a step is stricter than the one before, or "".
func stricter(r *Rule, before, after Limits) string {
	key := ""
	set := func(is bool, name string) {
		if is {
			key = name
		}
	}
	name := shapeOf(r.Kind).name
	switch r.Kind {
	case Near, Balance:
		set(after.Within < before.Within, "within")
	case Sizes, PartySizes:
		set(after.Within < before.Within, name)
	case Comparison:
		up, down := r.Compare.directions()
		set(up && after.Number < before.Number || down && after.Number > before.Number, "to")
	case Common:
		set(after.AtLeast > before.AtLeast, "at_least")
	case Count:
		set(after.Min > before.Min, "min")
		set(after.Max < before.Max, "max")
	case Latency:
		set(after.Latency < before.Latency, "latency")
		set(after.Spread < before.Spread, "spread")
	case Same, Different, Avoid, Or, And, Not:
	}
	return key
}

// directions returns whether a greater number on the right is wider, and whether a smaller one is. Of = and != neither
// is.
func (c *Compare) directions() (up, down bool) {
	return c.Operator == Less || c.Operator == LessOrEqual, c.Operator == Greater || c.Operator == GreaterOrEqual
}

// linear reads linear widening and expands it.
func (c *converter) linear(r *Rule, n *node) {
	if r.Compare != nil && r.Compare.Against != nil {
		c.report.add(n, "linear widening is not allowed: the rule compares with a measure")
		return
	}
	l := linear{every: n.get("every").duration(), add: amount(n.get("add")), until: amount(n.get("until"))}
	begin := r.Limits.widened(r.Kind)
	if !((l.until-begin)/l.add > 0) || math.IsInf((l.until-begin)/l.add, 0) { // a division by zero is refused as well
		c.report.add(n, "steps of %s do not lead from the limit to until: %s", n.get("add").textShown(),
			n.get("until").textShown())
		return
	}
	if (l.until-begin)/l.add > maxExpanded {
		c.report.add(n, "this makes more than %d steps: make add greater", maxExpanded)
		return
	}
	r.Widen = l.expand(r.Kind, r.Limits)
	if last := r.Widen[len(r.Widen)-1].AfterWait; last > maxWait {
		c.report.add(n, "the last step would be after %s: %s is allowed", brief(last), brief(maxWait))
	}
	if stricter(r, r.Limits, r.Widen[0].Limits) != "" {
		c.report.add(n.get("add"), "%s is not allowed: it makes the rule stricter with time", n.get("add").textShown())
	}
	if len(r.Widen) > maxSteps {
		r.linear = &l
	}
}

// amount returns the number of a value, or its duration in nanoseconds.
func amount(n *node) float64 {
	if n.kind == isNumber {
		return n.number
	}
	return float64(n.duration())
}

// expand returns the steps from limits on, up to until, which is the last one.
func (l linear) expand(kind RuleKind, from Limits) (steps []Step) {
	begin := from.widened(kind)
	for k := 1; k <= maxExpanded+1; k++ {
		to := begin + float64(float64(k)*l.add) // Go may fuse multiply and add unless the product is converted
		last := (l.until-to)/l.add <= 0
		if last {
			to = l.until
		}
		steps = append(steps, Step{AfterWait: time.Duration(k) * l.every, Limits: from.with(kind, to)})
		if last {
			break
		}
	}
	return steps
}

// widened returns the limit of a kind that linear widening changes.
func (l Limits) widened(kind RuleKind) float64 {
	switch kind {
	case Comparison:
		return l.Number
	case Common:
		return float64(l.AtLeast)
	case Latency:
		return float64(l.Latency)
	default: // the other kinds have no such limit
	}
	return l.Within
}

func (l Limits) with(kind RuleKind, to float64) Limits {
	switch kind {
	case Comparison:
		l.Number = to
	case Common:
		l.AtLeast = int(to)
	case Latency:
		l.Latency = time.Duration(to)
	default:
		l.Within = to
	}
	return l
}
