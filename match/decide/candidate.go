package decide

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unique"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// candidate is a ticket as the search compares it. Everything but its place in the engine's structures stays as it was
// made.
type candidate struct {
	ticket       *match.Ticket
	createdNanos int64 // nanoseconds since 1970
	// when it would have been created, if it had waited for as long as its priority says; created without one
	turnNanos   int64
	playerCount int    // players
	subBits     uint64 // a bit for each player, by a hash of the sub

	// Values by column, then by player.
	numberValues []float64 // NaN: left out
	atomValues   []atom    // the zero atom: left out
	listValues   [][]text  // nil: left out
	// by player: the roles that it would take, in its order of preference; nil without roles in the profile
	wantedRoles   [][]uint8
	kind          kind
	differentBits uint64  // a bit for each value of `different` rules, by a hash
	traitCounts   []uint8 // by trait of the plan: players that have it

	latencyMillis   []uint16 // by region of the engine; unmeasured
	measuredRegions uint64   // a bit for each region that has one
	allowedModes    uint8    // a bit for each of the profile's modes that all players allow
	isSeated        bool     // a party of an open match: it has no age
	takenSeats      []seat   // of a seated party, by player

	pivotLow, pivotHigh float64 // of the pivot
	pivotKey            float64 // in the pivot's tree

	bucket         *bucket
	nextMoment     int16 // index of the plan's moment that comes next
	windowStep     int16 // steps of the pivot's rule that its window has, while watching
	isWatching     bool  // a newcomer in its window makes it dirty
	failedSearches uint8 // searches that found nothing since its last widening
	isProposed     bool
	// takesAnyRole says that its players take any role, because it has waited for long.
	takesAnyRole bool
	// when the best match that it found is due, or a search that ran out of steps is repeated; 0: never
	searchAt   int64
	queueSlots [slots]int32
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

// isOlder orders by (created, id): the order of the queue.
func (c *candidate) isOlder(o *candidate) bool {
	if c.createdNanos != o.createdNanos {
		return c.createdNanos < o.createdNanos
	}
	return c.ticket.ID < o.ticket.ID
}

func byAge(a, b *candidate) int {
	return cmp.Or(cmp.Compare(a.createdNanos, b.createdNanos), strings.Compare(a.ticket.ID, b.ticket.ID))
}

// byTurn orders by the profile's priority, then by age.
func byTurn(a, b *candidate) int { return cmp.Or(cmp.Compare(a.turnNanos, b.turnNanos), byAge(a, b)) }

// numbersOf returns the numbers of a column, one a player.
func (c *candidate) numbersOf(i int) []float64 {
	return c.numberValues[i*c.playerCount : (i+1)*c.playerCount]
}

func (c *candidate) atomsOf(column int) []atom {
	return c.atomValues[column*c.playerCount : (column+1)*c.playerCount]
}

func (c *candidate) listsOf(column int) [][]text {
	return c.listValues[column*c.playerCount : (column+1)*c.playerCount]
}

// numberSpan returns the least and the greatest number of a party, after folding; low > high if all its players are left out.
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

// middleOf returns where a party stands for preferences; +Inf if all its players are left out.
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

// newCandidate makes a candidate of a ticket that lacks nothing.
func (pl *plan) newCandidate(t *match.Ticket, regions *regionSet) *candidate {
	n := len(t.Players)
	c := &candidate{ticket: t, createdNanos: t.Created.UnixNano(), playerCount: n, allowedModes: pl.modesOf(t)}
	for i := range c.queueSlots {
		c.queueSlots[i] = absent
	}
	for i := range t.Players {
		c.subBits |= 1 << (hashText(t.Players[i].Sub) % 64)
	}
	c.numberValues = fillColumns(pl.numberColumns, t, pl.numberOf)
	c.atomValues = fillColumns(pl.atomColumns, t, pl.atomOf)
	c.listValues = fillColumns(pl.listColumns, t, pl.listOf)
	pl.addRoles(c)
	pl.addTraits(c)
	c.kind = kindOf(c)
	c.differentBits = pl.valuesOf(c)
	regions.measureCandidate(c)
	c.turnNanos = c.createdNanos - int64(pl.headStart(c))
	// Last: without a pivot, candidates are sorted by the turn.
	pl.placeOnPivot(c)
	return c
}

func fillColumns[V any](columns []column, t *match.Ticket, value func(*column, *match.Player) V) []V {
	if len(columns) == 0 {
		return nil
	}
	to := make([]V, 0, len(columns)*len(t.Players))
	for i := range columns {
		for j := range t.Players {
			to = append(to, value(&columns[i], &t.Players[j]))
		}
	}
	return to
}

// placeOnPivot computes where the candidate is along the pivot.
func (pl *plan) placeOnPivot(c *candidate) {
	if pl.pivot.numberColumn < 0 {
		c.pivotKey = float64(c.turnNanos)
		return
	}
	c.pivotLow, c.pivotHigh = pl.pivot.spanOf(c)
	if c.pivotLow > c.pivotHigh { // all left out
		c.pivotLow, c.pivotHigh = 0, 0
	}
	c.pivotKey = float64(c.pivotLow/2) + float64(c.pivotHigh/2)
}

// resolveValue returns what a column compares of a player's attribute.
func (pl *plan) resolveValue(c *column, p *match.Player) (match.Value, bool) {
	v, ok := pl.valueOf(p, c.attribute)
	if !ok && c.missing.Value != nil {
		return *c.missing.Value, true
	}
	return v, ok
}

func (pl *plan) numberOf(c *column, p *match.Player) float64 {
	v, ok := pl.resolveValue(c, p)
	switch {
	case c.countsPresence && c.attribute == "":
		return 1
	case !ok:
		return math.NaN()
	case c.countsPresence:
		return 1
	case c.anyOf != nil:
		return countsAs(c.anyOf, &v)
	case v.Kind == match.Number:
		return v.Number
	}
	return math.NaN()
}

// countsAs returns 1 for a value that is or lists one of the texts, 0 for another, and NaN for one without texts.
func countsAs(texts []string, v *match.Value) float64 {
	switch v.Kind {
	case match.Text:
		if slices.Contains(texts, v.Text) {
			return 1
		}
	case match.List:
		if slices.ContainsFunc(v.List, func(s string) bool { return slices.Contains(texts, s) }) {
			return 1
		}
	case match.Number:
		return math.NaN()
	}
	return 0
}

func (pl *plan) atomOf(c *column, p *match.Player) atom {
	v, ok := pl.resolveValue(c, p)
	if !ok {
		return atom{}
	}
	switch v.Kind {
	case match.Number:
		return unique.Make(atomValue{kind: match.Number, number: v.Number})
	case match.Text:
		return unique.Make(atomValue{kind: match.Text, text: v.Text})
	case match.List:
		return unique.Make(atomValue{kind: match.List, text: joinList(v.List)})
	}
	return atom{}
}

// joinList makes one text of a list; no two lists make the same.
func joinList(list []string) string {
	var b strings.Builder
	for _, s := range list {
		// Zero bytes are escaped, so that the mark at the end of a text cannot be part of one.
		b.WriteString(strings.ReplaceAll(s, "\x00", "\x00\x01"))
		b.WriteString("\x00\x02")
	}
	return b.String()
}

func (pl *plan) listOf(c *column, p *match.Player) []text {
	v, ok := pl.resolveValue(c, p)
	if !ok {
		return nil
	}
	list := v.List
	if v.Kind == match.Text {
		list = []string{v.Text}
	} else if v.Kind != match.List {
		return nil
	}
	texts := make([]text, 0, len(list))
	for _, s := range list {
		texts = append(texts, unique.Make(s))
	}
	return texts
}

// roleAttribute lists the roles that a player would take, and modesAttribute the modes that it would play.
const (
	roleAttribute  = "role"
	modesAttribute = "modes"
)

func (pl *plan) addRoles(c *candidate) {
	if len(pl.roleNames) == 0 {
		return
	}
	c.wantedRoles = make([][]uint8, c.playerCount)
	for i := range c.ticket.Players {
		v, _ := pl.valueOf(&c.ticket.Players[i], roleAttribute)
		for _, name := range listTexts(&v) {
			role := pl.roleNumber(name)
			if role < 0 || slices.Contains(c.wantedRoles[i], uint8(role)) || !pl.suitsRole(c, i, role) {
				continue
			}
			c.wantedRoles[i] = append(c.wantedRoles[i], uint8(role))
		}
	}
}

// addTraits counts the players of a candidate that have each trait. Those of a party in one team count only as far as a
// team needs them.
func (pl *plan) addTraits(c *candidate) {
	if len(pl.traitNeeds) == 0 {
		return
	}
	c.traitCounts = make([]uint8, len(pl.traitNeeds))
	for _, roles := range c.wantedRoles {
		for _, role := range roles {
			c.traitCounts[role]++
		}
	}
	for role, most := range pl.roleMost {
		if !pl.maySplit {
			c.traitCounts[role] = min(c.traitCounts[role], uint8(most))
		}
	}
	for i, column := range pl.countedColumns {
		c.traitCounts[len(pl.roleNames)+i] = uint8(countOnes(c.numbersOf(column)))
	}
}

// takeAnyRole makes the players of a ticket that has waited for so long take the roles that they did not name, after
// those that they did.
func (pl *plan) takeAnyRole(c *candidate) {
	c.takesAnyRole = true
	for i := range c.wantedRoles {
		roles := slices.Clone(c.wantedRoles[i])
		for role := range pl.roleNames {
			if !slices.Contains(roles, uint8(role)) && pl.suitsRole(c, i, role) {
				roles = append(roles, uint8(role))
			}
		}
		c.wantedRoles[i] = roles
	}
	pl.addTraits(c)
	c.kind = kindOf(c)
}

// suitsRole reports whether a player has what the rules need of those in a role.
func (pl *plan) suitsRole(c *candidate, player, role int) bool {
	for kind, columns := range [][]column{pl.numberColumns, pl.atomColumns, pl.listColumns} {
		for i := range columns {
			needed := columns[i].onlyRole == role && !columns[i].isOptional
			if needed && !pl.isComparable(&columns[i], kind, &c.ticket.Players[player]) {
				return false
			}
		}
	}
	return true
}

// modesOf returns a bit for each of the profile's modes that all players allow.
func (pl *plan) modesOf(t *match.Ticket) uint8 {
	allowed := pl.allModes
	for i := range t.Players {
		v, ok := pl.valueOf(&t.Players[i], modesAttribute)
		if !ok {
			continue
		}
		for mode, name := range pl.profile.Modes {
			if !slices.Contains(listTexts(&v), name) {
				allowed &^= 1 << mode
			}
		}
	}
	return allowed
}

// listTexts returns a list's texts, and a text as a list of one.
func listTexts(v *match.Value) []string {
	if v.Kind == match.Text {
		return []string{v.Text}
	}
	return v.List
}
