package profile

// compareWays returns the ways of a comparison of a measure with a number, or with another measure. A comparison without
// numbers on a side holds.
func (s *satisfier) compareWays(c *claim, l Limits) (ways []way) {
	left, is := c.rule.Compare.Measure, c.rule.Compare.Operator
	var right quantity
	var present []group
	offset := l.Number
	if to := c.rule.Compare.Against; to != nil {
		// Beside another measure the rule has no number.
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
		return quantity{playersName, g.players()}
	case m.Take == FoldCount:
		return valueCount(g)
	}
	return quantityTaken(m.Take, g)
}

// comparedWays returns the ways of left is right + offset.
func comparedWays(left quantity, is Operator, right quantity, offset float64) []way {
	isRounded := left.name == meanName || right.name == meanName
	below := bound{lowerQuantity: left, rightQuantity: right, limit: offset, isStrict: is == Less || is == NotEqual,
		isRounded: isRounded}
	beyond := bound{lowerQuantity: right, rightQuantity: left, limit: -offset,
		isStrict: is == Greater || is == NotEqual, isRounded: isRounded}
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
	return alwaysTrue
}

// eachCompared returns the ways in which every value of a group compares with a number or, if one is enough, one of them
// does.
func eachCompared(g group, is Operator, right quantity, offset float64, isOneEnough bool) []way {
	// The values that must be below the number, and above it.
	below, above := g.highestValue(), g.lowestValue()
	// The lowest value is below the number if any is.
	if isOneEnough {
		below, above = above, below
	}
	switch is {
	case Less, LessOrEqual:
		return comparedWays(below, is, right, offset)
	case Greater, GreaterOrEqual:
		return comparedWays(above, is, right, offset)
	case Equal:
		// If one value that is equal is enough, this is necessary and not sufficient: no contradiction is invented.
		return eachWith(comparedWays(below, LessOrEqual, right, offset),
			comparedWays(above, GreaterOrEqual, right, offset))
	case NotEqual:
		if isOneEnough {
			return append(comparedWays(below, Less, right, offset), comparedWays(above, Greater, right, offset)...)
		}
	}
	// That all values differ from the number says nothing about the lowest and the highest.
	return alwaysTrue
}
