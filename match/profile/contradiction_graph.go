package profile

import "math"

// path is a chain of bounds that leads from one quantity to another.
type path struct {
	totalLength float64
	strictCount int // strict bounds of the chain
	lastBound   int // index of its last bound; -1: an empty chain
}

func (p path) extendedBy(b *bound, i int) path {
	p.totalLength += b.limit
	if b.isStrict {
		p.strictCount++
	}
	p.lastBound = i
	return p
}

// isShorter prefers, of two chains of one length, that with more strict bounds: a cycle of length 0 is a contradiction,
// too, if one of its bounds is strict.
func (p path) isShorter(o path) bool {
	return p.totalLength < o.totalLength || p.totalLength == o.totalLength && p.strictCount > o.strictCount
}

// findCycle returns bounds that cannot hold together, or nil if it finds none. Bounds of differences contradict each
// other if and only if they make a cycle of negative length, which is looked for as Bellman and Ford do. It gives up
// when the effort is used up.
func findCycle(bounds []bound, effort *int) []bound {
	paths := map[quantity]path{}
	for _, b := range bounds {
		// An empty chain leads to every quantity, so that a cycle is found wherever it is.
		paths[b.lowerQuantity], paths[b.rightQuantity] = path{lastBound: -1}, path{lastBound: -1}
	}
	for round := 0; round <= len(paths); round++ {
		end, hasChanged := quantity{}, false // end: a quantity whose path has become shorter
		*effort -= len(bounds)
		if *effort <= 0 {
			return nil
		}
		for i := range bounds {
			b := &bounds[i]
			next := paths[b.rightQuantity].extendedBy(b, i)
			if next.isShorter(paths[b.lowerQuantity]) {
				paths[b.lowerQuantity], end, hasChanged = next, b.lowerQuantity, true
			}
		}
		if !hasChanged {
			return nil
		}
		// A chain of more bounds than there are quantities passes one of them twice.
		if round == len(paths) {
			return cycleAround(bounds, paths, end)
		}
	}
	return nil
}

// cycleAround returns the cycle that a chain which is too long for the number of quantities leads through.
func cycleAround(bounds []bound, paths map[quantity]path, end quantity) []bound {
	at := end
	// After as many bounds backwards as there are quantities, the chain has come to the cycle.
	for range paths {
		at = bounds[paths[at].lastBound].rightQuantity
	}
	var found []bound
	for next := at; len(found) == 0 || next != at; {
		b := bounds[paths[next].lastBound]
		found = append(found, b)
		next = b.rightQuantity
	}
	// A match whose numbers are rounded otherwise may satisfy the bounds.
	if !isContradiction(found) {
		return nil
	}
	return found
}

// isContradiction reports whether the bounds of a cycle contradict each other however a match rounds its numbers.
func isContradiction(cycle []bound) bool {
	total, size, strict, exact, limits := 0.0, 0.0, false, true, 0
	for _, b := range cycle {
		total, size = total+b.limit, size+math.Abs(b.limit)
		strict, exact = strict || b.isStrict, exact && !b.isRounded
		if b.limit != 0 {
			limits++
		}
	}
	// The same number is compared twice: there is nothing to round.
	if exact && limits <= 2 {
		return total < 0 || total == 0 && strict
	}
	// Far more than the error of summing up numbers of this size in float64.
	return total < -1e-9*size
}
