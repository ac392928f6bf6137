package decide

import (
	"cmp"
	"math"
	"slices"
)

// choices are the candidates for a seed, in its order of preference. They are found as the search asks for them, because
// most searches need only the first few.
type choices struct {
	plan    *plan
	seed    *candidate
	walk    walk
	kinds   map[kind]int // waiting candidates of the bucket
	taken   map[kind]int // of list
	variety variety
	sets    []uint64 // of traits that are still wanted

	list    []*candidate
	sorted  []*candidate // list as it was before it was shuffled; nil: it was not
	players []int        // of the first so many of list
	limit   int          // the greatest length of list
	refused []PassedOver // up to maxPassedOver that cannot be with the seed
	kept    []*candidate // up to limit that are taken when there is room after all kinds
	scanned int
	ended   bool
}

// maxScanned bounds how many candidates a search looks at for those that can be with the seed.
const maxScanned = 2048

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
	k.kept = k.kept[:0]
	k.refused, k.sorted, k.scanned, k.ended = k.refused[:0], nil, 0, false
	if k.taken == nil {
		k.taken = map[kind]int{}
	}
	clear(k.taken)
	k.variety.begin(pl, k.limit/4)
}

// at returns the candidate that is i-th in the seed's preference, nil after the last.
func (s *search) at(i int) *candidate {
	k := &s.choices
	for i >= len(k.list) {
		if k.ended {
			return nil
		}
		s.pull()
		if len(k.plan.order) > 0 || len(k.plan.trades) > 0 {
			s.pullAll()
		}
	}
	return k.list[i]
}

// pullAll finds all choices and sorts them by the profile's order. Without one they come as the walk finds them.
func (s *search) pullAll() {
	k := &s.choices
	s.pullRest()
	prefer := k.prefer
	if len(k.plan.order) == 0 {
		prefer = k.preferTraded
	}
	slices.SortStableFunc(k.list, prefer)
	k.countPlayers()
}

func (s *search) pullRest() {
	for !s.choices.ended {
		s.pull()
	}
}

func (k *choices) countPlayers() {
	for i, c := range k.list {
		k.players[i+1] = k.players[i] + c.size
	}
}

// shuffle finds all choices and puts them into a random order.
func (s *search) shuffle() {
	k := &s.choices
	s.pullRest()
	if k.sorted == nil {
		k.sorted = slices.Clone(k.list)
	}
	for i := len(k.list) - 1; i > 0; i-- {
		j := s.random.below(i + 1)
		k.list[i], k.list[j] = k.list[j], k.list[i]
	}
	k.countPlayers()
}

// preferred returns the choices in the seed's order of preference.
func (k *choices) preferred() []*candidate {
	if k.sorted != nil {
		return k.sorted
	}
	return k.list
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
		if c == k.seed {
			continue
		}
		rare := k.variety.isRare(c)
		if !rare && !k.wanted(c.kind) {
			if len(k.kept) < k.limit {
				k.kept = append(k.kept, c)
			}
			continue
		}
		if because := s.refusal(&s.alone, c); because != "" {
			k.refuse(c, because)
			continue
		}
		if rare && !k.wanted(c.kind) {
			k.variety.places--
			k.limit++
		}
		k.add(c)
		k.narrow()
		return
	}
	k.ended = true
	for i := 0; i < len(k.kept) && len(k.list) < k.limit; i++ {
		if s.refusal(&s.alone, k.kept[i]) == "" {
			k.add(k.kept[i])
		}
	}
}

func (k *choices) add(c *candidate) {
	k.list = append(k.list, c)
	k.taken[c.kind]++
	k.variety.add(c)
	k.players = append(k.players, k.players[len(k.players)-1]+c.size)
}

// refuse remembers the first that cannot be with the seed, to say why. With an order of the profile they may not have been
// preferred, and are not named.
func (k *choices) refuse(c *candidate, because string) {
	if len(k.refused) < maxPassedOver && len(k.plan.order) == 0 && len(k.plan.trades) == 0 {
		k.refused = append(k.refused, PassedOver{c.ticket.ID, because})
	}
}

// wanted keeps places for candidates of other kinds once half of the places are taken: sixty damage dealers nearby must not
// hide the only healer.
func (k *choices) wanted(of kind) bool {
	if 2*len(k.list) < k.limit || len(k.kinds) == 1 {
		return true
	}
	return k.taken[of] < max(k.plan.most, k.limit/(2*len(k.kinds)))
}

// narrow lets the walk leave out leaves where nobody has a role that is still wanted, and ends it if nobody is wanted.
func (k *choices) narrow() {
	if 2*len(k.list) < k.limit || len(k.kinds) == 1 || k.variety.places > 0 {
		return
	}
	wanted := k.sets[:0]
	for of, waiting := range k.kinds {
		if waiting <= k.taken[of] || !k.wanted(of) {
			continue
		}
		if of.traits == 0 {
			k.walk.traits = nil
			return
		}
		wanted = append(wanted, of.traits)
	}
	k.sets, k.walk.traits, k.ended = wanted, wanted, len(wanted) == 0
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
