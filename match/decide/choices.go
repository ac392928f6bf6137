package decide

import (
	"cmp"
	"math"
	"slices"
)

// choices are the candidates for a seed, in its order of preference. They are found as the search asks for them, because
// most searches need only the first few.
type choices struct {
	plan  *plan
	seed  *candidate
	walk  walk
	kinds map[kind]int // of the bucket

	list    []*candidate
	players []int // of the first so many of list
	limit   int   // the greatest length of list
	scanned int
	ended   bool
}

// maxScanned bounds how many candidates a search looks at for one that can be with the seed.
const maxScanned = 8192

// begin starts at the nearest candidate, or the oldest if the profile has no pivot.
func (k *choices) begin(pl *plan, seed *candidate, low, high float64) {
	middle := seed.key
	if pl.pivot.column < 0 {
		middle = math.Inf(-1)
	}
	k.plan, k.seed, k.kinds = pl, seed, seed.bucket.kinds
	k.walk = newWalk(&seed.bucket.tree, middle, low, high)
	k.list, k.players = k.list[:0], append(k.players[:0], 0)
	k.limit = max(64, 8*pl.most)
	k.scanned, k.ended = 0, false
}

// at returns the candidate that is i-th in the seed's preference, nil after the last.
func (s *search) at(i int) *candidate {
	k := &s.choices
	for i >= len(k.list) {
		if k.ended {
			return nil
		}
		s.pull()
		if len(k.plan.order) > 0 {
			s.pullAll()
		}
	}
	return k.list[i]
}

// pullAll finds all choices and sorts them by the profile's order. Without one they come as the walk finds them.
func (s *search) pullAll() {
	k := &s.choices
	for !k.ended {
		s.pull()
	}
	slices.SortStableFunc(k.list, k.prefer)
	for i, c := range k.list {
		k.players[i+1] = k.players[i] + c.size
	}
}

// pull appends the next candidate that can be with the seed.
func (s *search) pull() {
	k := &s.choices
	for k.scanned < maxScanned && len(k.list) < k.limit {
		c := k.walk.next()
		if c == nil {
			break
		}
		k.scanned++
		if c == k.seed || s.refusal(&s.alone, c) != "" || !k.wanted(c) {
			continue
		}
		k.list = append(k.list, c)
		k.players = append(k.players, k.players[len(k.players)-1]+c.size)
		return
	}
	s.cut = s.cut || k.scanned == maxScanned
	k.ended = true
}

// wanted keeps places for candidates of other kinds once half of the places are taken: sixty damage dealers nearby must not
// hide the only healer.
func (k *choices) wanted(c *candidate) bool {
	if 2*len(k.list) < k.limit || len(k.kinds) == 1 {
		return true
	}
	kind, n := c.kind(), 0
	for _, o := range k.list {
		if o.kind() == kind {
			n++
		}
	}
	return n < max(k.plan.most, k.limit/(2*len(k.kinds)))
}

// after returns how many players the choices from i on have; more is true if there may be others.
func (k *choices) after(i int) (players int, more bool) {
	return k.players[len(k.list)] - k.players[min(i, len(k.list))], !k.ended
}

func (k *choices) prefer(a, b *candidate) int {
	for _, p := range k.plan.order {
		x, y := a.middle(p.column), b.middle(p.column)
		if p.distance {
			of := k.seed.middle(p.column)
			x, y = distance(x, of), distance(y, of)
		}
		if order := cmp.Compare(x, y); order != 0 {
			if p.descending && !p.distance {
				order = descending(x, y, order)
			}
			return order
		}
	}
	return byAge(a, b)
}

// descending turns an order round, but leaves candidates without a number last.
func descending(x, y float64, order int) int {
	if math.IsInf(x, 1) || math.IsInf(y, 1) {
		return order
	}
	return -order
}

func distance(x, from float64) float64 {
	if math.IsInf(x, 1) || math.IsInf(from, 1) {
		return math.Inf(1)
	}
	return math.Abs(x - from)
}
