package profile

// compareWays: a measure compares with a number, or with another measure. Without numbers on a side, it holds.
func (s *satisfier) compareWays(c *claim, l Limits) (ways []way) {
	left, is := c.rule.Compare.Measure, c.rule.Compare.Operator
	var right quantity
	var present []group
	offset := l.Number
	if to := c.rule.Compare.Against; to != nil {
		// The number of the rule has no meaning beside another measure.
		right, offset = s.measuredQuantity(c.rule, *to), 0
	}
	if c.isNegated {
		// The rule holds where a side has no numbers, so that its opposite needs both sides.
		is = is.inverseOf()
		present = []group{s.measuredQuantity(c.rule, left).group, right.group}
	}
	if left.Take == FoldEach {
		ways = eachCompared(s.measureGroup(c.rule, left), is, right, offset, c.isNegated)
	} else {
		ways = comparedWays(s.measuredQuantity(c.rule, left), is, right, offset)
	}
	for i := range ways {
		ways[i].presentGroups = present
	}
	return ways
}

// inverseOf returns the operator that is true of two numbers if and only if o is not.
func (o Operator) inverseOf() Operator {
	return map[Operator]Operator{Less: GreaterOrEqual, LessOrEqual: Greater, Equal: NotEqual, NotEqual: Equal,
		GreaterOrEqual: Less, Greater: LessOrEqual}[o]
}

func (s *satisfier) measureGroup(r *Rule, m Measure) group {
	column := s.columnOf(r, m.Attribute, m.ByRole, true)
	return group{column, s.teamIndex(m.Team), r.Role}
}

// measuredQuantity returns the quantity of a measure that is a single number.
func (s *satisfier) measuredQuantity(r *Rule, m Measure) quantity {
	g := s.measureGroup(r, m)
	switch {
	case m.Take == FoldCount && m.Attribute == "":
		// All players count: the sizes of the teams bound their number.
		return quantity{playersName, group{"", g.teamIndex, g.roleName}}
	case m.Take == FoldCount:
		return countedQuantity(group{"value of " + g.columnName, g.teamIndex, g.roleName}, nil)
	}
	return quantityTaken(m.Take, g)
}

// comparedWays returns the ways of left is right + offset.
func comparedWays(left quantity, is Operator, right quantity, offset float64) []way {
	rounded := left.name == meanName || right.name == meanName
	below := bound{lowerQuantity: left, rightQuantity: right, limit: offset, isStrict: is == Less || is == NotEqual,
		isRounded: rounded}
	beyond := bound{lowerQuantity: right, rightQuantity: left, limit: -offset,
		isStrict:  is == Greater || is == NotEqual,
		isRounded: rounded}
	switch is {
	case Less, LessOrEqual:
		return []way{{numberBounds: []bound{below}}}
	case Greater, GreaterOrEqual:
		return []way{{numberBounds: []bound{beyond}}}
	case Equal:
		return []way{{numberBounds: []bound{below, beyond}}}
	case NotEqual:
		// Either less or greater; both bounds are strict.
		return []way{{numberBounds: []bound{below}}, {numberBounds: []bound{beyond}}}
	}
	return anyway
}

// eachCompared returns the ways in which every value of a group compares with a number or, if only some is true, one of
// them does.
func eachCompared(g group, is Operator, right quantity, offset float64, some bool) []way {
	first, last := g.highestValue(), g.lowestValue()
	if some {
		// One value is enough: the lowest is less than the number if any is.
		first, last = last, first
	}
	switch is {
	case Less, LessOrEqual:
		return comparedWays(first, is, right, offset)
	case Greater, GreaterOrEqual:
		return comparedWays(last, is, right, offset)
	case Equal:
		// If only some value has to be equal, this is necessary and not sufficient: no contradiction is invented.
		return eachWith(comparedWays(first, LessOrEqual, right, offset),
			comparedWays(last, GreaterOrEqual, right, offset))
	case NotEqual:
		if some {
			return append(comparedWays(first, Less, right, offset), comparedWays(last, Greater, right, offset)...)
		}
	}
	// That all values differ from the number says nothing about the lowest and the highest.
	return anyway
}
