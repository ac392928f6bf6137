package decide

import (
	"cmp"
	"math"
	"strings"
	"unique"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// candidate is a ticket as the search compares it. Everything but its place in the engine's structures stays as it was made.
type candidate struct {
	ticket  *match.Ticket
	created int64  // nanoseconds since 1970
	turn    int64  // when it would have been created, if it had waited for as long as its priority says; created without one
	size    int    // players
	subs    uint64 // a bit for each player, by a hash of the sub

	// Values by column, then by player.
	numbers []float64 // NaN: left out
	atoms   []atom    // the zero atom: left out
	lists   [][]text  // nil: left out
	roles   [][]uint8 // by player: the roles that it would take, in its order of preference; nil without roles in the profile
	kind    kind
	values  uint64  // a bit for each value of `different` rules, by a hash
	traits  []uint8 // by trait of the plan: players that have it

	millis   []uint16 // by region of the engine; unmeasured
	measured uint64   // a bit for each region that has one
	modes    uint8    // a bit for each of the profile's modes that all players allow
	seated   bool     // a party of an open match: it has no age
	seats    []seat   // of a seated party, by player

	low, high float64 // of the pivot
	key       float64 // in the pivot's tree

	bucket   *bucket
	moment   int16 // index of the plan's moment that comes next
	step     int16 // steps of the pivot's rule that its window has, while watching
	watching bool  // a newcomer in its window makes it dirty
	tries    uint8 // searches that found nothing since its last widening
	proposed bool
	// autofilled says that its players take any role, because it has waited for long.
	autofilled bool
	due        int64 // when the best match that it found is due, or a search that ran out of steps is repeated; 0: never
	slots      [slots]int32
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

// older orders by (created, id): the order of the queue.
func (c *candidate) older(o *candidate) bool {
	if c.created != o.created {
		return c.created < o.created
	}
	return c.ticket.ID < o.ticket.ID
}

func byAge(a, b *candidate) int {
	return cmp.Or(cmp.Compare(a.created, b.created), strings.Compare(a.ticket.ID, b.ticket.ID))
}

// byTurn orders by the profile's priority, then by age.
func byTurn(a, b *candidate) int { return cmp.Or(cmp.Compare(a.turn, b.turn), byAge(a, b)) }

// column returns the numbers of a column, one a player.
func (c *candidate) column(i int) []float64 { return c.numbers[i*c.size : (i+1)*c.size] }

func (c *candidate) atomsOf(column int) []atom { return c.atoms[column*c.size : (column+1)*c.size] }

func (c *candidate) listsOf(column int) [][]text { return c.lists[column*c.size : (column+1)*c.size] }

// span returns the least and the greatest number of a party, after folding; low > high if all its players are left out.
func (c *candidate) span(column int, f profile.Fold) (low, high float64) {
	values := c.column(column)
	if len(values) == 1 {
		if x := values[0]; !math.IsNaN(x) {
			return x, x
		}
		return math.Inf(1), math.Inf(-1)
	}
	var buffer [8]float64
	kept := buffer[:0]
	for _, x := range values {
		if !math.IsNaN(x) {
			kept = append(kept, x)
		}
	}
	return extremes(foldParty(kept, 0, f))
}

// middle returns where a party stands for preferences; +Inf if all its players are left out.
func (c *candidate) middle(column int) float64 {
	low, high := c.span(column, profile.FoldEach)
	if low > high {
		return math.Inf(1)
	}
	return float64(low/2) + float64(high/2)
}
