package profile

import (
	"math"
	"time"
)

// convertWiden reads the steps of a rule.
func (c *converter) convertWiden(r *Rule, n *node, kind ruleShape, in rulePlace) {
	if n == nil {
		return
	}
	switch {
	case in.belowNot:
		c.report.addProblem(n, "a rule within not has no widen: it would become stricter with time")
	case in.isPreferred:
		c.report.addProblem(n, "a preference has no widen: no match waits for it")
	case r.Tolerance != "" && !endsAtOnce(n):
		c.report.addProblem(n, "only one step with within: any is allowed: tickets have limits of their own")
	case n.kind == isObject:
		c.convertLinear(r, n)
	default:
		c.convertSteps(r, n, kind)
	}
}

// endsAtOnce reports whether the first of some steps ends the rule.
func endsAtOnce(n *node) bool {
	return n.kind == isList && (len(n.itemNodes) == 0 || anyLimit.takesNode(n.itemNodes[0].goodValue("within")))
}

// convertSteps reads listed steps. A step changes what it names and keeps the rest.
func (c *converter) convertSteps(r *Rule, n *node, kind ruleShape) {
	now, last := r.Limits, time.Duration(0)
	for _, item := range n.itemNodes {
		after := item.valueOf("after").parsedDuration()
		if after <= last {
			c.report.addProblem(item.valueOf("after"), "%s is not allowed: after ascends, and the step before is at %s",
				item.valueOf("after").plainText, briefDuration(last))
		}
		if now.Ended {
			c.report.addProblem(item, "no step can follow one that ends the rule with any")
		}
		// It has after alone.
		if len(item.itemNodes) < 2 {
			c.report.addProblem(item, "a step needs a new limit: %s", oneOf(stepNames(kind)))
		}
		next := c.convertStep(r, item, now)
		// A stricter step would forbid matches that were possible a second before.
		if key := stricterKey(r, now, next); key != "" && !next.Ended {
			c.report.addProblem(item.valueOf(key), "%s is not allowed: the step before is wider",
				item.valueOf(key).textShown())
		}
		if r.Kind == Count && !next.Ended {
			c.checkCount(item, next)
		}
		r.Widen = append(r.Widen, Step{AfterWait: after, Limits: next})
		now, last = next, after
	}
}

// stepNames returns the keys of limits that a step of a kind may have.
func stepNames(kind ruleShape) []string { return object{keyFields: kind.stepFields}.keyNames() }

// convertStep returns the limits from a step on; l are those before it, which it keeps where it names no others.
func (c *converter) convertStep(r *Rule, n *node, l Limits) Limits {
	for i, value := range n.itemNodes {
		name := n.objectKeys[i].name
		// any for these two, which are one of two bounds of count and latency, leaves the rule the other bound.
		if anyLimit.takesNode(value) && name != "spread" && name != "max" {
			l.Ended = true
			continue
		}
		switch name {
		case "within", "sizes", "party_sizes":
			l.Within = value.numberValue
		case "to":
			// There is no number that a step could change.
			if r.Compare.Against != nil {
				c.report.addProblem(value, "%s is not allowed: the rule compares with a measure, so that only any is",
					value.textShown())
			}
			l.Number = value.numberValue
		case "at_least":
			l.AtLeast = int(value.numberValue)
		case "min":
			l.Min = int(value.numberValue)
		case "max":
			l.Max = NoMax // of any
			if value.kind == isNumber {
				l.Max = int(value.numberValue)
			}
		case "latency":
			l.Latency = value.parsedDuration()
		case "spread":
			l.Spread = NoSpread // of any
			if !anyLimit.takesNode(value) {
				l.Spread = value.parsedDuration()
			}
		}
	}
	return l
}

// stricterKey returns the key by which a step is stricter than the one before, or "". Of two keys it returns one: one
// problem a step is enough.
func stricterKey(r *Rule, before, after Limits) string {
	if r.Kind == Comparison {
		up, down := r.Compare.wideningDirections()
		if up && after.Number < before.Number || down && after.Number > before.Number {
			return "to"
		}
		return ""
	}
	// The limits that a kind does not have are equal.
	switch {
	case after.AtLeast > before.AtLeast:
		return "at_least"
	case after.Max < before.Max:
		return "max"
	case after.Min > before.Min:
		return "min"
	case after.Spread < before.Spread:
		return "spread"
	case after.Latency < before.Latency:
		return "latency"
	case after.Within >= before.Within:
		return ""
	case r.Kind == Sizes || r.Kind == PartySizes:
		return shapeOf(r.Kind).kindKey
	default:
		return "within"
	}
}

// wideningDirections returns whether a greater number on the right is wider, and whether a smaller one is. Of = and !=
// neither is.
func (c *Compare) wideningDirections() (up, down bool) {
	return c.Operator == Less || c.Operator == LessOrEqual, c.Operator == Greater || c.Operator == GreaterOrEqual
}

// convertLinear reads linear widening and expands it.
func (c *converter) convertLinear(r *Rule, n *node) {
	// There is no number to widen.
	if r.Compare != nil && r.Compare.Against != nil {
		c.report.addProblem(n, "linear widening is not allowed: the rule compares with a measure")
		return
	}
	l := linear{stepEvery: n.valueOf("every").parsedDuration(), stepAdd: amountOf(n.valueOf("add")),
		lastLimit: amountOf(n.valueOf("until"))}
	steps := (l.lastLimit - r.Limits.widenedLimit(r.Kind)) / l.stepAdd
	// NaN and infinite where add is 0.
	if !(steps > 0) || math.IsInf(steps, 0) {
		c.report.addProblem(n, "steps of %s do not lead from the limit to until: %s", n.valueOf("add").textShown(),
			n.valueOf("until").textShown())
		return
	}
	if steps > maxExpanded {
		c.report.addProblem(n, "this makes more than %d steps: make add greater", maxExpanded)
		return
	}
	r.Widen = l.expandSteps(r.Kind, r.Limits)
	// No ticket waits so long: the step would never take effect.
	if last := r.Widen[len(r.Widen)-1].AfterWait; last > maxWait {
		c.report.addProblem(n, "the last step would be after %s: %s is allowed", briefDuration(last),
			briefDuration(maxWait))
	}
	// All steps go in the direction of the first one.
	if stricterKey(r, r.Limits, r.Widen[0].Limits) != "" {
		c.report.addProblem(n.valueOf("add"), "%s is not allowed: it makes the rule stricter with time",
			n.valueOf("add").textShown())
	}
	// A document may not list so many steps: the canonical form repeats the three numbers instead.
	if len(r.Widen) > maxSteps {
		r.linearSource = &l
	}
}

// amountOf returns the number of a value, or its duration in nanoseconds.
func amountOf(n *node) float64 {
	if n.kind == isNumber {
		return n.numberValue
	}
	return float64(n.parsedDuration())
}

// expandSteps returns the steps from limits on, up to until, which is the last one.
func (l linear) expandSteps(kind RuleKind, from Limits) (steps []Step) {
	begin := from.widenedLimit(kind)
	for k := 1; k <= maxExpanded+1; k++ { // the caller has refused more steps
		to := begin + float64(float64(k)*l.stepAdd) // Go may fuse multiply and add unless the product is converted
		isLast := (l.lastLimit-to)/l.stepAdd <= 0
		if isLast {
			to = l.lastLimit
		}
		steps = append(steps, Step{AfterWait: time.Duration(k) * l.stepEvery, Limits: from.withLimit(kind, to)})
		if isLast {
			break
		}
	}
	return steps
}

// widenedLimit returns the limit of a kind that linear widening changes.
func (l Limits) widenedLimit(kind RuleKind) float64 {
	switch kind {
	case Comparison:
		return l.Number
	case Common:
		return float64(l.AtLeast)
	case Latency:
		return float64(l.Latency)
	default: // Near, Balance, Sizes, PartySizes; the other kinds have no such limit
		return l.Within
	}
}

// withLimit sets the limit that widenedLimit returns.
func (l Limits) withLimit(kind RuleKind, to float64) Limits {
	switch kind {
	case Comparison:
		l.Number = to
	case Common:
		// Whole, as its add and until are.
		l.AtLeast = int(to)
	case Latency:
		l.Latency = time.Duration(to)
	default:
		l.Within = to
	}
	return l
}
