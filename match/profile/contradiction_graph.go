package profile

import "math"

// group is some players of a match: those of one team or of all, in one role or any, who have a value of a column.
type group struct {
	column string // what is measured, and of whom; "" for the players themselves
	team   int    // index in the profile's teams; wholeMatch
	role   string // "": any
}

const wholeMatch = -1

// latencyColumn is the column of the latencies to the game region of the match.
const latencyColumn = "latency"

// within reports whether all players of the group are players of the other one.
func (g group) within(o group) bool {
	return g.column == o.column && (o.team == wholeMatch || g.team == o.team) && (o.role == "" || g.role == o.role)
}

// quantity is a number that a match has. The zero quantity is 0.
type quantity struct {
	name  string // such as "lowest"
	group group
}

// The names of quantities about which more is known than their bounds.
const (
	lowestName  = "lowest"
	highestName = "highest"
	meanName    = "mean"
	playersName = "players"
	countPrefix = "count of "
)

// bound says that left - right <= limit; if strict, that it is less.
type bound struct {
	lower, right quantity
	limit        float64
	strict       bool
	rounded      bool   // matches compute this with rounding, so that it does not hold to the last bit
	from         *claim // nil: it follows from the teams, or from the meaning of the quantities
	fact         string // about the teams, for people; "" if it needs no words
}

// path is a chain of bounds that leads from one quantity to another.
type path struct {
	length float64
	strict int // strict bounds of the chain
	last   int // index of its last bound; -1: an empty chain
}

func (p path) with(b *bound, i int) path {
	p.length += b.limit
	if b.strict {
		p.strict++
	}
	p.last = i
	return p
}

func (p path) less(o path) bool {
	return p.length < o.length || p.length == o.length && p.strict > o.strict
}

// cycle returns bounds that cannot hold together, or nil if it finds none. Bounds of differences contradict each other
// if and only if they make a cycle of negative length, which is looked for as Bellman and Ford do. It gives up when the
// effort is used up.
func cycle(bounds []bound, effort *int) []bound {
	paths := map[quantity]path{}
	for _, b := range bounds {
		paths[b.lower], paths[b.right] = path{last: -1}, path{last: -1}
	}
	for round := 0; round <= len(paths); round++ {
		end, changed := quantity{}, false
		if *effort -= len(bounds); *effort <= 0 {
			return nil
		}
		for i := range bounds {
			b := &bounds[i]
			next := paths[b.right].with(b, i)
			if next.less(paths[b.lower]) {
				paths[b.lower], end, changed = next, b.lower, true
			}
		}
		if !changed {
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
	for range paths { // now at is on the cycle
		at = bounds[paths[at].last].right
	}
	var found []bound
	for next := at; ; {
		b := bounds[paths[next].last]
		found = append(found, b)
		if next = b.right; next == at {
			break
		}
	}
	if !contradicts(found) {
		return nil
	}
	return found
}

// contradicts reports whether a cycle is one beyond all rounding.
func contradicts(cycle []bound) bool {
	total, size, strict, exact, limits := 0.0, 0.0, false, true, 0
	for _, b := range cycle {
		total, size = total+b.limit, size+math.Abs(b.limit)
		strict, exact = strict || b.strict, exact && !b.rounded
		if b.limit != 0 {
			limits++
		}
	}
	if exact && limits <= 2 { // the same number is compared twice: there is nothing to round
		return total < 0 || total == 0 && strict
	}
	return total < -1e-9*size
}
