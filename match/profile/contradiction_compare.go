package profile

// compareWays: a measure compares with a number, or with another measure. Without numbers on a side, it holds.
func (s *satisfier) compareWays(c *claim, l Limits) (ways []way) {
	left, is := c.rule.Compare.Measure, c.rule.Compare.Operator
	var right quantity
	var present []group
	offset := l.Number
	if to := c.rule.Compare.Against; to != nil {
		right, offset = s.measured(c.rule, *to), 0
	}
	if c.negated {
		// The rule holds where a side has no numbers, so that its opposite needs both sides.
		is = is.inverse()
		present = []group{s.measured(c.rule, left).group, right.group}
	}
	if left.Take == FoldEach {
		ways = eachCompared(s.measureGroup(c.rule, left), is, right, offset, c.negated)
	} else {
		ways = compared(s.measured(c.rule, left), is, right, offset)
	}
	for i := range ways {
		ways[i].present = present
	}
	return ways
}

func (o Operator) inverse() Operator {
	return map[Operator]Operator{Less: GreaterOrEqual, LessOrEqual: Greater, Equal: NotEqual, NotEqual: Equal,
		GreaterOrEqual: Less, Greater: LessOrEqual}[o]
}

func (s *satisfier) measureGroup(r *Rule, m Measure) group {
	column := s.columnOf(r, m.Attribute, m.ByRole, true)
	return group{column, s.team(m.Team), r.Role}
}

// measured returns the quantity of a measure that is a single number.
func (s *satisfier) measured(r *Rule, m Measure) quantity {
	g := s.measureGroup(r, m)
	switch {
	case m.Take == FoldCount && m.Attribute == "":
		return quantity{playersName, group{"", g.team, g.role}}
	case m.Take == FoldCount:
		return counted(group{"value of " + g.column, g.team, g.role}, nil)
	}
	return quantityTaken(m.Take, g)
}

// quantityTaken is the quantity that a fold takes of the values of a group. A sum is there without values: it is 0.
func quantityTaken(by Fold, g group) quantity {
	switch by {
	case FoldMin:
		return g.lowest()
	case FoldMax:
		return g.highest()
	case FoldMean:
		return quantity{meanName, g}
	case FoldEach, FoldSum, FoldCount, Intersect, Union:
	}
	return quantity{"sum of " + g.column, group{"", g.team, g.role}}
}

// compared returns the ways of left is right + offset.
func compared(left quantity, is Operator, right quantity, offset float64) []way {
	rounded := left.name == meanName || right.name == meanName
	below := bound{lower: left, right: right, limit: offset, strict: is == Less || is == NotEqual, rounded: rounded}
	beyond := bound{lower: right, right: left, limit: -offset, strict: is == Greater || is == NotEqual,
		rounded: rounded}
	switch is {
	case Less, LessOrEqual:
		return []way{{bounds: []bound{below}}}
	case Greater, GreaterOrEqual:
		return []way{{bounds: []bound{beyond}}}
	case Equal:
		return []way{{bounds: []bound{below, beyond}}}
	case NotEqual:
		return []way{{bounds: []bound{below}}, {bounds: []bound{beyond}}}
	}
	return anyway
}

// eachCompared returns the ways in which every value of a group compares with a number or, if only some is true, one of
// them does.
func eachCompared(g group, is Operator, right quantity, offset float64, some bool) []way {
	first, last := g.highest(), g.lowest()
	if some {
		// One value is enough: the lowest is less than the number if any is.
		first, last = last, first
	}
	switch is {
	case Less, LessOrEqual:
		return compared(first, is, right, offset)
	case Greater, GreaterOrEqual:
		return compared(last, is, right, offset)
	case Equal:
		// If only some value has to be equal, this is necessary and not sufficient: no contradiction is invented.
		return eachWith(compared(first, LessOrEqual, right, offset), compared(last, GreaterOrEqual, right, offset))
	case NotEqual:
		if some {
			return append(compared(first, Less, right, offset), compared(last, Greater, right, offset)...)
		}
	}
	return anyway
}
