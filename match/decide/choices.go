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
	kindCounts  map[kind]int // waiting candidates of the bucket
	takenByKind map[kind]int // of list
	variety     variety
	wantedSets  []uint64 // of traits that are still wanted

	list            []*candidate
	preferenceOrder []*candidate // list as it was before it was shuffled; nil: it was not
	playersUpTo     []int        // of the first so many of list
	maxList         int          // the greatest length of list
	passedOver      []PassedOver // up to maxPassedOver that cannot be with the seed
	reserve         []*candidate // up to limit that are taken when there is room after all kinds
	scannedCount    int
	isExhausted     bool
	// every kind has its places: the others are for anybody
	hasAllKinds bool
}

// maxScanned bounds how many candidates a search looks at for those that can be with the seed.
const maxScanned = 2048

// startAround starts at the nearest candidate, or the oldest if the profile has no pivot.
func (k *choices) startAround(pl *plan, seed *candidate, low, high float64) {
	middle := seed.pivotKey
	if pl.pivot.numberColumn < 0 {
		middle = math.Inf(-1)
	}
	k.plan, k.seed, k.kindCounts = pl, seed, seed.bucket.kindCounts
	k.walk = newWalk(&seed.bucket.pivotTree, middle, low, high)
	k.list, k.playersUpTo = k.list[:0], append(k.playersUpTo[:0], 0)
	k.maxList = max(64, 8*pl.maxPlayers)
	k.reserve = k.reserve[:0]
	k.passedOver, k.preferenceOrder, k.scannedCount, k.isExhausted, k.hasAllKinds = k.passedOver[:0], nil, 0, false, false
	if k.takenByKind == nil {
		k.takenByKind = map[kind]int{}
	}
	clear(k.takenByKind)
	k.variety.beginFor(pl, k.maxList/4)
}

// choiceAt returns the candidate that is i-th in the seed's preference, nil after the last.
func (s *search) choiceAt(i int) *candidate {
	k := &s.choices
	for i >= len(k.list) {
		if k.isExhausted {
			return nil
		}
		s.pullNext()
		// The profile's order has to see all choices before it can name the first. The order of the walk does not,
		// and most searches need only a few.
		if len(k.plan.preferenceOrder) > 0 || len(k.plan.trades) > 0 {
			s.pullAll()
		}
	}
	return k.list[i]
}

// pullAll finds all choices and sorts them by the profile's order. Without one they come as the walk finds them.
func (s *search) pullAll() {
	k := &s.choices
	s.pullRest()
	prefer := k.comparePreferred
	if len(k.plan.preferenceOrder) == 0 {
		prefer = k.preferTraded
	}
	slices.SortStableFunc(k.list, prefer)
	k.countPlayers()
}

func (s *search) pullRest() {
	for !s.choices.isExhausted {
		s.pullNext()
	}
}

func (k *choices) countPlayers() {
	for i, c := range k.list {
		k.playersUpTo[i+1] = k.playersUpTo[i] + c.playerCount
	}
}

// shuffleChoices finds all choices and puts them into a random order.
func (s *search) shuffleChoices() {
	k := &s.choices
	s.sortChoices()
	for i := len(k.list) - 1; i > 0; i-- {
		j := s.randomLot.drawBelow(i + 1)
		k.list[i], k.list[j] = k.list[j], k.list[i]
	}
	k.countPlayers()
}

// shuffleNear finds all choices and puts them into an order in which those that the seed prefers come early: teams that
// are filled with neighbours hold more often where a rule compares each player with the mean of all.
func (s *search) shuffleNear() {
	k := &s.choices
	s.sortChoices()
	copy(k.list, k.preferenceOrder)
	for i := range k.list {
		j := i + s.randomLot.drawBelow(min(len(k.list)-i, 2*s.plan.maxPlayers))
		k.list[i], k.list[j] = k.list[j], k.list[i]
	}
	k.countPlayers()
}

// sortChoices finds all choices, and keeps the seed's order of preference.
func (s *search) sortChoices() {
	s.pullRest()
	if s.choices.preferenceOrder == nil {
		s.choices.preferenceOrder = slices.Clone(s.choices.list)
	}
}

// preferredList returns the choices in the seed's order of preference.
func (k *choices) preferredList() []*candidate {
	if k.preferenceOrder != nil {
		return k.preferenceOrder
	}
	return k.list
}

// pullNext appends the next candidate that can be with the seed.
func (s *search) pullNext() {
	k := &s.choices
	for k.scannedCount < maxScanned && len(k.list) < k.maxList {
		c := k.walk.nextCandidate()
		if c == nil {
			break
		}
		k.scannedCount++
		if c == k.seed {
			continue
		}
		rare := k.variety.isRare(c)
		if !rare && !k.wantsKind(c.kind) {
			// Its kind has all its places for now. It may get one that no other kind needs, once all kinds have
			// theirs.
			if len(k.reserve) < k.maxList {
				k.reserve = append(k.reserve, c)
			}
			continue
		}
		if because := s.refusalBesideSeed(c); because != "" {
			k.noteRefusal(c, because)
			continue
		}
		if rare && !k.wantsKind(c.kind) {
			// A rare value gets a place beyond the limit, so that it takes none from the seed's nearest.
			k.variety.placesLeft--
			k.maxList++
		}
		k.addChoice(c)
		if k.narrowWalk(); k.hasAllKinds {
			s.pullReserve()
		}
		return
	}
	k.isExhausted = true
	s.pullReserve()
}

// pullReserve takes those that were passed over for other kinds, as far as there is room.
func (s *search) pullReserve() {
	k := &s.choices
	for i := 0; i < len(k.reserve) && len(k.list) < k.maxList; i++ {
		if s.refusalBesideSeed(k.reserve[i]) == "" {
			k.addChoice(k.reserve[i])
		}
	}
	k.reserve = k.reserve[:0]
}

func (k *choices) addChoice(c *candidate) {
	k.list = append(k.list, c)
	k.takenByKind[c.kind]++
	k.variety.countChosen(c)
	k.playersUpTo = append(k.playersUpTo, k.playersUpTo[len(k.playersUpTo)-1]+c.playerCount)
}

// noteRefusal remembers the first that cannot be with the seed, to say why. With an order of the profile they may not have
// been preferred, and are not named.
func (k *choices) noteRefusal(c *candidate, because string) {
	if len(k.passedOver) < maxPassedOver && len(k.plan.preferenceOrder) == 0 && len(k.plan.trades) == 0 {
		k.passedOver = append(k.passedOver, PassedOver{c.ticket.ID, because})
	}
}

// wantsKind keeps places for candidates of other kinds once half of the places are taken: sixty damage dealers nearby
// must not hide the only healer.
func (k *choices) wantsKind(of kind) bool {
	if 2*len(k.list) < k.maxList || len(k.kindCounts) == 1 || k.hasAllKinds {
		return true
	}
	return k.takenByKind[of] < max(k.plan.maxPlayers, k.maxList/(2*len(k.kindCounts)))
}

// narrowWalk lets the walk leave out leaves where nobody has a role that is still wanted. Once every kind has its places,
// it takes whoever comes: the last places are nobody's.
func (k *choices) narrowWalk() {
	if 2*len(k.list) < k.maxList || len(k.kindCounts) == 1 || k.hasAllKinds || k.variety.placesLeft > 0 {
		return
	}
	wanted := k.wantedSets[:0]
	for of, waiting := range k.kindCounts {
		if waiting <= k.takenByKind[of] || !k.wantsKind(of) {
			continue
		}
		// A wanted kind without traits may be in any leaf, so that no leaf can be left out.
		if of.traitSet == 0 {
			k.walk.wantedTraits = nil
			return
		}
		wanted = append(wanted, of.traitSet)
	}
	k.wantedSets, k.walk.wantedTraits, k.hasAllKinds = wanted, wanted, len(wanted) == 0
	if k.hasAllKinds {
		k.walk.wantedTraits = nil
	}
}

// playersFrom returns how many players the choices from i on have; more is true if there may be others.
func (k *choices) playersFrom(i int) (players int, more bool) {
	return k.playersUpTo[len(k.list)] - k.playersUpTo[min(i, len(k.list))], !k.isExhausted
}

func (k *choices) comparePreferred(a, b *candidate) int {
	for _, p := range k.plan.preferenceOrder {
		x, y := a.middleOf(p.numberColumn), b.middleOf(p.numberColumn)
		if p.byDistance {
			of := k.seed.middleOf(p.numberColumn)
			x, y = distanceFrom(x, of), distanceFrom(y, of)
		}
		if order := cmp.Compare(x, y); order != 0 {
			if p.isDescending && !p.byDistance {
				order = compareDescending(x, y, order)
			}
			return order
		}
	}
	return byAge(a, b)
}

// compareDescending turns an order round, but leaves candidates without a number last.
func compareDescending(x, y float64, order int) int {
	if math.IsInf(x, 1) || math.IsInf(y, 1) {
		return order
	}
	return -order
}

func distanceFrom(x, from float64) float64 {
	if math.IsInf(x, 1) || math.IsInf(from, 1) {
		return math.Inf(1)
	}
	return math.Abs(x - from)
}

// walk goes through the entries of a tree with keys from low to high, outward from middle: the nearest first, of
// equally near ones the oldest. Without a pivot, keys are ages and the middle is -Inf: the oldest come first.
type walk struct {
	tree                       *tree
	middleKey, lowKey, highKey float64
	wantedRegions              uint64   // leaves where nobody measured any of them are left out
	wantedTraits               []uint64 // leaves that have none of these sets are left out; nil: no leaf is
	rightNext                  cursor   // the next entry with a key of at least middle

	// Entries of equal keys are in order of age, so those below the middle come in groups of a key: the next of the
	// group, its end, and its start.
	leftNext, leftEnd, leftStart cursor
}

func newWalk(t *tree, middle, low, high float64) walk {
	at := t.seekKey(max(middle, low))
	return walk{tree: t, middleKey: middle, lowKey: low, highKey: high, wantedRegions: everywhere, rightNext: at,
		leftNext: at,
		leftEnd:  at, leftStart: at}
}

// skipsLeaf reports whether nobody of a leaf has the regions or the traits.
func (w *walk) skipsLeaf(leaf int) bool {
	n := &w.tree.leaves[leaf].counts
	return w.wantedRegions != everywhere && n.measuredRegions&w.wantedRegions == 0 ||
		w.wantedTraits != nil && !n.anySet(w.wantedTraits)
}

// nextCandidate returns the next candidate, nil after the last.
func (w *walk) nextCandidate() *candidate {
	l, hasLeft := w.peekLeft()
	r, hasRight := w.peekRight()
	switch {
	case hasLeft && (!hasRight || w.isLeftNearer(l, r)):
		w.leftNext = w.tree.nextCursor(w.leftNext)
		return l.c
	case hasRight:
		w.rightNext = w.tree.nextCursor(w.rightNext)
		return r.c
	}
	return nil
}

func (w *walk) isLeftNearer(l, r entry) bool {
	a, b := w.middleKey-l.sortKey, r.sortKey-w.middleKey
	return a < b || a == b && l.c.isOlder(r.c)
}

func (w *walk) peekRight() (entry, bool) {
	for !w.tree.isEnd(w.rightNext) && w.skipsLeaf(w.rightNext.leafIndex) {
		w.rightNext = cursor{w.rightNext.leafIndex + 1, 0}
	}
	if w.tree.isEnd(w.rightNext) {
		return entry{}, false
	}
	e := w.tree.entryAt(w.rightNext)
	return e, e.sortKey <= w.highKey
}

func (w *walk) peekLeft() (entry, bool) {
	if w.leftNext == w.leftEnd && !w.nextGroup() {
		return entry{}, false
	}
	return w.tree.entryAt(w.leftNext), true
}

// nextGroup moves left to the group of the next lower key.
func (w *walk) nextGroup() bool {
	// Without a pivot the walk begins below all keys, and only goes up.
	if math.IsInf(w.middleKey, -1) {
		return false
	}
	last, ok := w.tree.previousCursor(w.leftStart)
	for ok && w.skipsLeaf(last.leafIndex) {
		last, ok = w.tree.previousCursor(cursor{last.leafIndex, 0})
	}
	if !ok || w.tree.entryAt(last).sortKey < w.lowKey {
		return false
	}
	w.leftEnd = w.tree.nextCursor(last)
	w.leftStart = w.groupStart(last)
	w.leftNext = w.leftStart
	return true
}

// groupStart returns the first entry with the key of the given one. Most groups are small: a few steps back find it.
func (w *walk) groupStart(at cursor) cursor {
	key := w.tree.entryAt(at).sortKey
	for range 8 {
		before, ok := w.tree.previousCursor(at)
		if !ok || w.tree.entryAt(before).sortKey != key {
			return at
		}
		at = before
	}
	return w.tree.seekKey(key)
}
