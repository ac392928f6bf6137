package decide

import (
	"math"
	"slices"
	"time"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// newCandidate makes a candidate of a ticket for which findLacks returned nothing.
func (pl *plan) newCandidate(t *match.Ticket, regions *regionSet) *candidate {
	n := len(t.Players)
	c := &candidate{ticket: t, createdNanos: t.Created.UnixNano(), playerCount: n, allowedModes: pl.modesOf(t)}
	for i := range c.queueSlots {
		c.queueSlots[i] = absent
	}
	for i := range t.Players {
		c.subBits |= 1 << (hashText(t.Players[i].Sub) % 64)
	}
	c.numberValues = fillColumns(pl.numberColumns, pl.profile, t, (*column).numberOf)
	c.atomValues = fillColumns(pl.atomColumns, pl.profile, t, (*column).atomOf)
	c.listValues = fillColumns(pl.listColumns, pl.profile, t, (*column).listOf)
	pl.setWantedRoles(c)
	pl.setTraitCounts(c)
	c.kind = kindOf(c)
	c.differentBits = pl.differentBitsOf(c)
	regions.measureCandidate(c)
	c.turnNanos = c.createdNanos - int64(pl.headStart(c))
	pl.placeOnPivot(c) // after the turn, which is the key without a pivot
	return c
}

// fillColumns returns the values of a ticket's players, by column, then by player.
func fillColumns[V any](columns []column, p *profile.Profile, t *match.Ticket,
	value func(*column, *profile.Profile, *match.Player) V,
) []V {
	if len(columns) == 0 {
		return nil
	}
	values := make([]V, 0, len(columns)*len(t.Players))
	for i := range columns {
		for j := range t.Players {
			values = append(values, value(&columns[i], p, &t.Players[j]))
		}
	}
	return values
}

// placeOnPivot computes where the candidate is along the pivot.
func (pl *plan) placeOnPivot(c *candidate) {
	if pl.pivot.numberColumn == noColumn {
		c.pivotKey = float64(c.turnNanos)
		return
	}
	c.pivotLow, c.pivotHigh = pl.pivot.spanOf(c)
	// All players are left out, so the pivot compares only optional values or those of a role. Windows have no end then
	// (see choosePivot), and the key only orders.
	if c.pivotLow > c.pivotHigh {
		c.pivotLow, c.pivotHigh = 0, 0
	}
	c.pivotKey = float64(c.pivotLow/2) + float64(c.pivotHigh/2)
}

// setWantedRoles notes which roles each player would take, the preferred one first.
func (pl *plan) setWantedRoles(c *candidate) {
	if len(pl.roleNames) == 0 {
		return
	}
	c.wantedRoles = make([][]uint8, c.playerCount)
	for i := range c.ticket.Players {
		v, _ := valueOf(pl.profile, &c.ticket.Players[i], profile.AttributeRole)
		for _, name := range listTexts(&v) {
			role := pl.roleNumber(name)
			// Left out: a role that no team has, one that is listed twice, and one for which the player lacks a value that
			// a rule compares of players in it.
			if role < 0 || slices.Contains(c.wantedRoles[i], uint8(role)) || !pl.suitsRole(c, i, role) {
				continue
			}
			c.wantedRoles[i] = append(c.wantedRoles[i], uint8(role))
		}
	}
}

// setTraitCounts counts anew the players of a candidate that have each trait; the first traits are the roles. If a
// party stays in one team, its players with a role count only as far as a team needs them.
func (pl *plan) setTraitCounts(c *candidate) {
	if len(pl.traitNeeds) == 0 {
		return
	}
	c.traitCounts = make([]uint8, len(pl.traitNeeds))
	for _, roles := range c.wantedRoles {
		for _, role := range roles {
			c.traitCounts[role]++
		}
	}
	if !pl.maySplit {
		for role, most := range pl.roleMost {
			c.traitCounts[role] = min(c.traitCounts[role], uint8(most))
		}
	}
	for i, column := range pl.countedColumns {
		c.traitCounts[len(pl.roleNames)+i] = uint8(countOnes(c.numbersOf(column)))
	}
}

// takeAnyRole makes the players of a ticket also take the roles that they did not name, after those that they did.
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
	pl.setTraitCounts(c)
	c.kind = kindOf(c)
}

// suitsRole reports whether a player has what the rules need of those in a role.
func (pl *plan) suitsRole(c *candidate, player, role int) bool {
	for ofType, columns := range pl.columnsByType() {
		for i := range columns {
			needed := columns[i].onlyRole == role && !columns[i].isOptional
			if needed && !columns[i].isComparable(columnType(ofType), pl.profile, &c.ticket.Players[player]) {
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
		v, ok := valueOf(pl.profile, &t.Players[i], profile.AttributeModes)
		// A player who says nothing plays all modes.
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

// headStart returns by how much a ticket takes its turn earlier than its age says. A head start is bounded, so that
// everybody's turn comes: a ticket is overtaken only by those that arrive within the greatest head start after it.
func (pl *plan) headStart(c *candidate) time.Duration {
	if pl.priorityColumn == noColumn {
		return 0
	}
	least := pl.profile.Priority.UpTo.Seconds()
	for _, x := range c.numbersOf(pl.priorityColumn) {
		if !(x > 0) { // also NaN: players without the number have no head start
			return 0
		}
		least = min(least, x)
	}
	return time.Duration(least * float64(time.Second))
}

// differentBitsOf returns a bit for each value of a candidate that `different` rules compare.
func (pl *plan) differentBitsOf(c *candidate) (bits uint64) {
	for _, column := range pl.differentColumns {
		for _, a := range c.atomsOf(column) {
			bits |= differentBit(a)
		}
	}
	return bits
}

// goldenRatio is 2^64 divided by it: a product's highest bits depend on all bits of the factor (Knuth, The Art of
// Computer Programming 3, 6.4). The bits of a whole number differ only in the upper half.
const goldenRatio = 0x9E3779B97F4A7C15

// differentBit returns a value's bit, by a hash; 0 for a value that is left out.
func differentBit(a atom) uint64 {
	if a == (atom{}) {
		return 0
	}
	v := a.Value()
	numberHash := math.Float64bits(v.number) * goldenRatio >> 58 // 0 to 63
	return 1 << ((hashText(v.text) ^ numberHash) % 64)
}
