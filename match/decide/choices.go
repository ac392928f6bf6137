package decide

import (
	"cmp"
	"math"
	"time"

	"github.com/lattice-director/director/match/profile"
)

// choices are the candidates for a seed, in its order of preference. They are found as the search asks for them,
// because most searches need only the first few.
type choices struct {
	plan        *plan
	seed        *candidate
	walk        walk
	kindCounts  map[kind]int // how many waiting candidates of the bucket are of a kind
	takenByKind map[kind]int // how many in list are of a kind
	variety     variety
	wantedSets  []uint64 // sets of traits that are still wanted: see narrowWalk

	list           []*candidate
	unshuffledList []*candidate // list as it was before it was shuffled; nil: it was not
	playersUpTo    []int        // at i: the players of the first i in list
	maxList        int          // the greatest length of list
	passedOver     []PassedOver // up to maxPassedOver that cannot be with the seed
	reserve        []*candidate // up to maxList that are taken if there is room after all kinds have their places
	scannedCount   int          // candidates of the walk that were looked at
	isExhausted    bool         // there are no further choices
	hasAllKinds    bool         // every kind has its places: the others are for anybody
}

// maxChoices returns how many choices a search has: several for each place of a match, and enough in small matches.
func (pl *plan) maxChoices() int { return max(64, 8*pl.maxPlayers) }

// startAround begins the choices of a seed, with keys from low to high: at the nearest candidate, or at the first in
// turn if the profile has no pivot.
func (k *choices) startAround(pl *plan, seed *candidate, low, high float64) {
	middle := seed.pivotKey
	if pl.pivot.numberColumn < 0 { // keys are turns: from the first one on
		middle = math.Inf(-1)
	}
	k.plan, k.seed, k.kindCounts = pl, seed, seed.bucket.kindCounts
	k.walk = newWalk(&seed.bucket.pivotTree, middle, low, high)
	k.list, k.playersUpTo = k.list[:0], append(k.playersUpTo[:0], 0)
	k.maxList = pl.maxChoices()
	k.reserve = k.reserve[:0]
	k.passedOver, k.unshuffledList, k.scannedCount = k.passedOver[:0], nil, 0
	k.isExhausted, k.hasAllKinds = false, false
	if k.takenByKind == nil {
		k.takenByKind = map[kind]int{}
	}
	clear(k.takenByKind)
	k.variety.beginFor(pl, k.maxList/4)
}

// countPlayers computes playersUpTo of a list whose order has changed.
func (k *choices) countPlayers() {
	for i, c := range k.list {
		k.playersUpTo[i+1] = k.playersUpTo[i] + c.playerCount
	}
}

// preferredList returns the choices in the seed's order of preference.
func (k *choices) preferredList() []*candidate {
	if k.unshuffledList != nil {
		return k.unshuffledList
	}
	return k.list
}

// addChoice appends a candidate to the list.
func (k *choices) addChoice(c *candidate) {
	k.list = append(k.list, c)
	k.takenByKind[c.kind]++
	k.variety.countChosen(c)
	k.playersUpTo = append(k.playersUpTo, k.playersUpTo[len(k.playersUpTo)-1]+c.playerCount)
}

// noteRefusal adds a candidate that cannot be with the seed to passedOver. With an order of the profile or a trade it
// does not: the candidates that the walk finds first need not be the preferred ones.
func (k *choices) noteRefusal(c *candidate, because string) {
	if len(k.passedOver) < maxPassedOver && len(k.plan.orderCriteria) == 0 && len(k.plan.trades) == 0 {
		k.passedOver = append(k.passedOver, PassedOver{c.ticket.ID, because})
	}
}

// wantsKind reports whether candidates of a kind may take further places. The second half of the places is shared evenly
// among the kinds: sixty players of one role nearby must not hide the only player of another.
func (k *choices) wantsKind(of kind) bool {
	if !k.sharesPlaces() {
		return true
	}
	share := k.maxList / 2 / len(k.kindCounts)
	// A kind may fill a whole match, however small its share is among many kinds.
	return k.takenByKind[of] < max(k.plan.maxPlayers, share)
}

// sharesPlaces reports whether kinds compete for the places that are left: not for the first half of them, which are for
// the nearest, and not once every kind has its own.
func (k *choices) sharesPlaces() bool {
	return 2*len(k.list) >= k.maxList && len(k.kindCounts) > 1 && !k.hasAllKinds
}

// narrowWalk lets the walk leave out leaves where nobody has the traits of a kind that is still wanted. Once every kind
// has its places, the walk leaves none out: the last places are for anybody.
func (k *choices) narrowWalk() {
	// While places are left for rare values, any leaf may have one.
	if !k.sharesPlaces() || k.variety.placesLeft > 0 {
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

// playersFrom returns how many players the choices from i on have; more says that there may be further choices.
func (k *choices) playersFrom(i int) (players int, more bool) {
	return k.playersUpTo[len(k.list)] - k.playersUpTo[min(i, len(k.list))], !k.isExhausted
}

// comparePreferred orders the choices by the profile's order.
func (k *choices) comparePreferred(a, b *candidate) int {
	for _, p := range k.plan.orderCriteria {
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

// distanceFrom returns the distance of two numbers; +Inf, which stands for a missing number, is far from all.
func distanceFrom(x, from float64) float64 {
	if math.IsInf(x, 1) || math.IsInf(from, 1) {
		return math.Inf(1)
	}
	return math.Abs(x - from)
}

// preferTraded orders the choices of a seed by when a match with each would be due: near ones and old ones first.
func (k *choices) preferTraded(a, b *candidate) int {
	return cmp.Or(cmp.Compare(k.tradedDelay(a), k.tradedDelay(b)), byAge(a, b))
}

// tradedDelay returns how much later a pair with c is due than one with an equal that is as old as the seed, in
// seconds.
func (k *choices) tradedDelay(c *candidate) float64 {
	delay := time.Duration(c.createdNanos - k.seed.createdNanos).Seconds()
	for i := range k.plan.trades {
		t := &k.plan.trades[i]
		if t.terms.Quality != profile.OfAttribute {
			continue
		}
		if x, from := c.middleOf(t.numberColumn), k.seed.middleOf(t.numberColumn); !math.IsInf(x, 1) &&
			!math.IsInf(from, 1) {
			delay = float64(delay + math.Abs(x-from)/t.terms.PerSecond)
		}
	}
	return delay
}

// setList sets the choices to the candidates of a list of which isWanted is true, in its order.
func (k *choices) setList(list []*candidate, isWanted func(*candidate) bool) {
	k.list, k.playersUpTo, k.isExhausted = k.list[:0], append(k.playersUpTo[:0], 0), true
	for _, c := range list {
		if isWanted(c) {
			k.list = append(k.list, c)
			k.playersUpTo = append(k.playersUpTo, k.playersUpTo[len(k.playersUpTo)-1]+c.playerCount)
		}
	}
}
