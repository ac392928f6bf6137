package profile

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// convertTrades reads the trades, in the order of their keys.
func (c *converter) convertTrades(n *node) {
	if n == nil {
		return
	}
	for i, item := range n.itemNodes {
		t := Trade{PerSecond: rateOf(item)}
		switch name := n.objectKeys[i].name; name {
		case "latency":
			t.Quality = OfLatency
		case "balance":
			t.Quality = OfBalance
		default:
			t.Attribute = name
			c.useTraded(n.objectKeys[i], item.path)
		}
		c.checkRate(item, t)
		c.p.Trade = append(c.p.Trade, t)
	}
	slices.SortFunc(c.p.Trade, func(a, b Trade) int { return cmp.Compare(a.Key(), b.Key()) })
	// Balance is completed after the other trades are read: its number may be that of one of them.
	if i := slices.IndexFunc(c.p.Trade, func(t Trade) bool { return t.Quality == OfBalance }); i >= 0 {
		c.balanceTrade(&c.p.Trade[i], n.valueOf("balance"))
	}
}

// rateOf returns the number of a rate, such as 5 of 5ms per second.
func rateOf(n *node) float64 {
	// A rate with ms for another quality than latency, checkRate refuses.
	number, _, _ := strings.Cut(strings.TrimSuffix(n.plainText, " per second"), "ms")
	x, _ := strconv.ParseFloat(number, 64) // the shape has checked it
	return x
}

// checkRate reports a rate that is out of bounds, or of another unit than the quality.
func (c *converter) checkRate(n *node, t Trade) {
	switch inMillis := strings.Contains(n.plainText, "ms"); {
	// The pattern of a rate also takes 0, and more than maxTrade.
	case t.PerSecond < minTrade || t.PerSecond > maxTrade:
		c.report.addProblem(n, "%s is not allowed: a second must be worth from %s to %s", n.textShown(),
			shortestNumber(minTrade), shortestNumber(maxTrade))
	case t.Quality == OfLatency && !inMillis:
		c.report.addProblem(n, "%s is not allowed: latency is traded in milliseconds, such as 5ms per second",
			n.textShown())
	case t.Quality != OfLatency && inMillis:
		c.report.addProblem(n, "%s is not allowed: only latency has milliseconds; write 10 per second", n.textShown())
	}
}

// useTraded records the use of a traded attribute, and reports one that is no number, or that nobody has.
func (c *converter) useTraded(k key, path string) {
	// Problems are about values, and the attribute is a key here: a value with the place of the key stands for it.
	of := &node{kind: isText, plainText: k.name, line: k.line, column: k.column, path: path}
	_, declared := c.p.Attributes[k.name]
	// A name that nothing else mentions is a typing error.
	if _, compared := c.attributeUses[k.name]; !declared && !compared {
		c.report.addProblem(of, "no rule compares the attribute %s, and attributes does not declare it",
			shortenText(k.name))
		return
	}
	c.useAttribute(of, numbers, "trade")
}

// balanceTrade finds the number by which teams are compared: that of the first balance rule, else of the first near
// rule, else the first that is traded.
func (c *converter) balanceTrade(t *Trade, n *node) {
	t.Teams = FoldMean // the default of balance rules
	if r := c.firstRule(Balance); r != nil {
		t.Attribute, t.ByRole, t.Teams = r.Attribute, r.ByRole, r.Teams
	} else if r := c.firstRule(Near); r != nil {
		t.Attribute, t.ByRole = r.Attribute, r.ByRole
	}
	for _, other := range c.p.Trade {
		if t.Attribute == "" && other.Quality == OfAttribute {
			t.Attribute = other.Attribute
		}
	}
	switch {
	case c.teamsKnown && len(c.p.Teams) < 2:
		c.report.addProblem(n, "the balance of one team cannot be traded")
	case t.Attribute == "":
		c.report.addProblem(n,
			"which number is balanced is not known: a balance or near rule, or another key of trade, must name it")
	}
}

// firstRule returns the first rule of a kind; nil without one.
func (c *converter) firstRule(kind RuleKind) *Rule {
	i := slices.IndexFunc(c.p.Rules, func(r Rule) bool { return r.Kind == kind })
	if i < 0 {
		return nil
	}
	return &c.p.Rules[i]
}
