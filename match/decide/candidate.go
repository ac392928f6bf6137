package decide

import (
	"cmp"
	"math"
	"strings"
	"unique"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// candidate is a ticket as the search compares it. What changes after it was made is its place in the engine's
// structures, its latencies with the engine's regions, and its roles when its players take any.
type candidate struct {
	ticket       *match.Ticket
	createdNanos int64 // nanoseconds since 1970
	// turnNanos is createdNanos less the head start that its priority gives it.
	turnNanos   int64
	playerCount int
	subBits     uint64 // a bit for each player, by a hash of the sub

	// Values by column, then by player.
	numberValues []float64 // NaN: left out
	atomValues   []atom    // the zero atom: left out
	listValues   [][]text  // nil: left out
	// wantedRoles are by player the roles that it would take, in its order of preference; nil without roles in the
	// profile.
	wantedRoles   [][]uint8
	kind          kind
	differentBits uint64  // a bit for each value of `different` rules, by a hash
	traitCounts   []uint8 // by trait of the plan: players that have it

	latencyMillis   []uint16 // by region of the engine; may be unmeasured
	measuredRegions uint64   // a bit for each region to which it measured the latency
	allowedModes    uint8    // a bit for each of the profile's modes that all players allow
	isSeated        bool     // a party of an open match: it has no age
	takenSeats      []seat   // of a seated party, by player

	pivotLow, pivotHigh float64 // the least and greatest of its numbers along the pivot
	pivotKey            float64 // its key in the tree of its bucket: their middle, or its turn without a pivot

	bucket         *bucket
	nextMoment     int16 // index of the plan's moment that comes next
	windowStep     int16 // steps of the pivot's rule that its window has, while watching
	isWatching     bool  // a newcomer in its window makes it dirty
	failedSearches uint8 // searches that found nothing since its last widening
	isProposed     bool
	// takesAnyRole says that its players take any role, because it has waited for long.
	takesAnyRole bool
	// searchAt is when the best match that it found is due, or a search that ran out of steps is repeated; 0: never.
	searchAt   int64
	queueSlots [slots]int32 // by queue: its index there, or absent
}

// text is a string that compares as fast as a pointer.
type text = unique.Handle[string]

// atom is a text or a number that is only compared for equality.
type atom = unique.Handle[atomValue]

type atomValue struct {
	kind   match.Kind
	number float64
	text   string
}

// unmeasured is the latency to a region that the ticket did not measure.
const unmeasured = math.MaxUint16

// seat is where a player of an open match sits.
type seat struct{ teamIndex, roleIndex int }

// kind tells candidates apart that fill different places of a match.
type kind struct {
	playerCount int
	traitSet    uint64
}

// traitBit is the trait's place in a set; those beyond 63 share one.
func traitBit(trait int) uint64 { return 1 << min(trait, 63) }

// kindOf returns the kind of a candidate whose traits are known.
func kindOf(c *candidate) kind {
	k := kind{playerCount: c.playerCount}
	for trait, n := range c.traitCounts {
		if n > 0 {
			k.traitSet |= traitBit(trait)
		}
	}
	return k
}

// The queues that a candidate may be in, as indexes of queueSlots.
const (
	dirtySlot = iota
	timerSlot
	slots // their number
)

// absent is the slot of a candidate that is not in the queue.
const absent = -1

// isOlder orders by (created, id): the order of the queue.
func (c *candidate) isOlder(o *candidate) bool {
	if c.createdNanos != o.createdNanos {
		return c.createdNanos < o.createdNanos
	}
	return c.ticket.ID < o.ticket.ID
}

// byAge orders as isOlder does.
func byAge(a, b *candidate) int {
	return cmp.Or(cmp.Compare(a.createdNanos, b.createdNanos), strings.Compare(a.ticket.ID, b.ticket.ID))
}

// byTurn orders by the profile's priority, then by age.
func byTurn(a, b *candidate) int { return cmp.Or(cmp.Compare(a.turnNanos, b.turnNanos), byAge(a, b)) }

func byID(a, b *candidate) int { return strings.Compare(a.ticket.ID, b.ticket.ID) }

// numbersOf returns the numbers of a column, by player; atomsOf and listsOf return its atoms and lists.
func (c *candidate) numbersOf(column int) []float64 {
	return c.numberValues[column*c.playerCount : (column+1)*c.playerCount]
}

func (c *candidate) atomsOf(column int) []atom {
	return c.atomValues[column*c.playerCount : (column+1)*c.playerCount]
}

func (c *candidate) listsOf(column int) [][]text {
	return c.listValues[column*c.playerCount : (column+1)*c.playerCount]
}

// numberSpan returns the least and the greatest number of a party, after folding; low > high if all its players are
// left out.
func (c *candidate) numberSpan(column int, f profile.Fold) (low, high float64) {
	values := c.numbersOf(column)
	if len(values) == 1 {
		if x := values[0]; !math.IsNaN(x) {
			return x, x
		}
		return math.Inf(1), math.Inf(-1)
	}
	// Most parties are smaller than this, and need no allocation.
	var buffer [8]float64
	kept := buffer[:0]
	for _, x := range values {
		if !math.IsNaN(x) {
			kept = append(kept, x)
		}
	}
	return extremesOf(foldParty(kept, 0, f))
}

// middleOf returns the middle between the least and the greatest number of a party, by which orders, trades and batches
// compare parties; +Inf if all its players are left out.
func (c *candidate) middleOf(column int) float64 {
	low, high := c.numberSpan(column, profile.FoldEach)
	if low > high {
		return math.Inf(1)
	}
	// Halves are added, because the sum of two large numbers may overflow. The conversions keep the compiler from
	// fusing the operations, which would round differently on some processors: a replay must compute the same bits
	// anywhere.
	return float64(low/2) + float64(high/2)
}
