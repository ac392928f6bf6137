package decide

import (
	"cmp"
	"math"
	"slices"
)

// choices are the candidates for a seed, in its order of preference. They are found as the search asks for them,
// because most searches need only the first few.
type choices struct {
	plan        *plan
	seed        *candidate
	walk        walk
	kinds       map[kind]int // waiting candidates of the bucket
	takenByKind map[kind]int // of list
	variety     variety
	sets        []uint64 // of traits that are still wanted

	list    []*candidate
	sorted  []*candidate // list as it was before it was shuffled; nil: it was not
	players []int        // of the first so many of list
	limit   int          // the greatest length of list
	refused []PassedOver // up to maxPassedOver that cannot be with the seed
	reserve []*candidate // up to limit that are taken when there is room after all kinds
	scanned int
	ended   bool
	// every kind has its places: the others are for anybody
	hasAllKinds bool
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
	k.limit = max(64, 8*pl.maxPlayers)
	k.reserve = k.reserve[:0]
	k.refused, k.sorted, k.scanned, k.ended, k.hasAllKinds = k.refused[:0], nil, 0, false, false
	if k.takenByKind == nil {
		k.takenByKind = map[kind]int{}
	}
	clear(k.takenByKind)
	k.variety.begin(pl, k.limit/4)
}

// choiceAt returns the candidate that is i-th in the seed's preference, nil after the last.
func (s *search) choiceAt(i int) *candidate {
	k := &s.choices
	for i >= len(k.list) {
		if k.ended {
			return nil
		}
		s.pull()
		// The profile's order has to see all choices before it can name the first. The order of the walk does not,
		// and most searches need only a few.
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
	s.sortChoices()
	for i := len(k.list) - 1; i > 0; i-- {
		j := s.random.below(i + 1)
		k.list[i], k.list[j] = k.list[j], k.list[i]
	}
	k.countPlayers()
}

// shuffleNear finds all choices and puts them into an order in which those that the seed prefers come early: teams that
// are filled with neighbours hold more often where a rule compares each player with the mean of all.
func (s *search) shuffleNear() {
	k := &s.choices
	s.sortChoices()
	copy(k.list, k.sorted)
	for i := range k.list {
		j := i + s.random.below(min(len(k.list)-i, 2*s.plan.maxPlayers))
		k.list[i], k.list[j] = k.list[j], k.list[i]
	}
	k.countPlayers()
}

// sortChoices finds all choices, and keeps the seed's order of preference.
func (s *search) sortChoices() {
	s.pullRest()
	if s.choices.sorted == nil {
		s.choices.sorted = slices.Clone(s.choices.list)
	}
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
		if !rare && !k.wantsKind(c.kind) {
			// Its kind has all its places for now. It may get one that no other kind needs, once all kinds have
			// theirs.
			if len(k.reserve) < k.limit {
				k.reserve = append(k.reserve, c)
			}
			continue
		}
		if because := s.refusalBesideSeed(c); because != "" {
			k.refuse(c, because)
			continue
		}
		if rare && !k.wantsKind(c.kind) {
			// A rare value gets a place beyond the limit, so that it takes none from the seed's nearest.
			k.variety.places--
			k.limit++
		}
		k.add(c)
		if k.narrow(); k.hasAllKinds {
			s.pullReserve()
		}
		return
	}
	k.ended = true
	s.pullReserve()
}

// pullReserve takes those that were passed over for other kinds, as far as there is room.
func (s *search) pullReserve() {
	k := &s.choices
	for i := 0; i < len(k.reserve) && len(k.list) < k.limit; i++ {
		if s.refusalBesideSeed(k.reserve[i]) == "" {
			k.add(k.reserve[i])
		}
	}
	k.reserve = k.reserve[:0]
}

func (k *choices) add(c *candidate) {
	k.list = append(k.list, c)
	k.takenByKind[c.kind]++
	k.variety.add(c)
	k.players = append(k.players, k.players[len(k.players)-1]+c.size)
}

// refuse remembers the first that cannot be with the seed, to say why. With an order of the profile they may not have
// been preferred, and are not named.
func (k *choices) refuse(c *candidate, because string) {
	if len(k.refused) < maxPassedOver && len(k.plan.order) == 0 && len(k.plan.trades) == 0 {
		k.refused = append(k.refused, PassedOver{c.ticket.ID, because})
	}
}

// wantsKind keeps places for candidates of other kinds once half of the places are taken: sixty damage dealers nearby
// must not hide the only healer.
func (k *choices) wantsKind(of kind) bool {
	if 2*len(k.list) < k.limit || len(k.kinds) == 1 || k.hasAllKinds {
		return true
	}
	return k.takenByKind[of] < max(k.plan.maxPlayers, k.limit/(2*len(k.kinds)))
}

// narrow lets the walk leave out leaves where nobody has a role that is still wanted. Once every kind has its places,
// it takes whoever comes: the last places are nobody's.
func (k *choices) narrow() {
	if 2*len(k.list) < k.limit || len(k.kinds) == 1 || k.hasAllKinds || k.variety.places > 0 {
		return
	}
	wanted := k.sets[:0]
	for of, waiting := range k.kinds {
		if waiting <= k.takenByKind[of] || !k.wantsKind(of) {
			continue
		}
		// A wanted kind without traits may be in any leaf, so that no leaf can be left out.
		if of.traits == 0 {
			k.walk.traits = nil
			return
		}
		wanted = append(wanted, of.traits)
	}
	k.sets, k.walk.traits, k.hasAllKinds = wanted, wanted, len(wanted) == 0
	if k.hasAllKinds {
		k.walk.traits = nil
	}
}

// playersFrom returns how many players the choices from i on have; more is true if there may be others.
func (k *choices) playersFrom(i int) (players int, more bool) {
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

// walk goes through the entries of a tree with keys from low to high, outward from middle: the nearest first, of
// equally near ones the oldest. Without a pivot, keys are ages and the middle is -Inf: the oldest come first.
type walk struct {
	tree              *tree
	middle, low, high float64
	regions           uint64   // leaves where nobody measured any of them are left out
	traits            []uint64 // leaves that have none of these sets are left out; nil: no leaf is
	right             cursor   // the next entry with a key of at least middle

	// Entries of equal keys are in order of age, so those below the middle come in groups of a key: the next of the
	// group, its end, and its start.
	leftNext, leftEnd, leftStart cursor
}

func newWalk(t *tree, middle, low, high float64) walk {
	at := t.seek(max(middle, low))
	return walk{tree: t, middle: middle, low: low, high: high, regions: everywhere, right: at, leftNext: at,
		leftEnd: at, leftStart: at}
}

// skips reports whether nobody of a leaf has the regions or the traits.
func (w *walk) skips(leaf int) bool {
	n := &w.tree.leaves[leaf].counts
	return w.regions != everywhere && n.regions&w.regions == 0 || w.traits != nil && !n.anySet(w.traits)
}

// next returns the next candidate, nil after the last.
func (w *walk) next() *candidate {
	l, hasLeft := w.peekLeft()
	r, hasRight := w.peekRight()
	switch {
	case hasLeft && (!hasRight || w.nearer(l, r)):
		w.leftNext = w.tree.next(w.leftNext)
		return l.c
	case hasRight:
		w.right = w.tree.next(w.right)
		return r.c
	}
	return nil
}

func (w *walk) nearer(l, r entry) bool {
	a, b := w.middle-l.key, r.key-w.middle
	return a < b || a == b && l.c.older(r.c)
}

func (w *walk) peekRight() (entry, bool) {
	for !w.tree.ended(w.right) && w.skips(w.right.leaf) {
		w.right = cursor{w.right.leaf + 1, 0}
	}
	if w.tree.ended(w.right) {
		return entry{}, false
	}
	e := w.tree.entry(w.right)
	return e, e.key <= w.high
}

func (w *walk) peekLeft() (entry, bool) {
	if w.leftNext == w.leftEnd && !w.nextGroup() {
		return entry{}, false
	}
	return w.tree.entry(w.leftNext), true
}

// nextGroup moves left to the group of the next lower key.
func (w *walk) nextGroup() bool {
	// Without a pivot the walk begins below all keys, and only goes up.
	if math.IsInf(w.middle, -1) {
		return false
	}
	last, ok := w.tree.previous(w.leftStart)
	for ok && w.skips(last.leaf) {
		last, ok = w.tree.previous(cursor{last.leaf, 0})
	}
	if !ok || w.tree.entry(last).key < w.low {
		return false
	}
	w.leftEnd = w.tree.next(last)
	w.leftStart = w.groupStart(last)
	w.leftNext = w.leftStart
	return true
}

// groupStart returns the first entry with the key of the given one. Most groups are small: a few steps back find it.
func (w *walk) groupStart(at cursor) cursor {
	key := w.tree.entry(at).key
	for range 8 {
		before, ok := w.tree.previous(at)
		if !ok || w.tree.entry(before).key != key {
			return at
		}
		at = before
	}
	return w.tree.seek(key)
}
