package decide

import "math/bits"

// variety lets a search see rare values of `different` rules beyond the candidates that it prefers: a team of four
// classes needs one of each, also if a hundred of one class came before.
type variety struct {
	placesLeft int       // for candidates with rare values
	takenByBit [64]uint8 // by bit of a value: how many candidates with it are chosen, at most rareUpTo
	rareUpTo   uint8     // a value is rare while fewer candidates with it are chosen
}

// beginFor begins a search with so many places for rare values.
func (v *variety) beginFor(pl *plan, places int) {
	*v = variety{}
	if len(pl.differentColumns) > 0 {
		v.placesLeft, v.rareUpTo = places, uint8(2*len(pl.teams)+2)
	}
}

// countChosen counts the values of a candidate that is chosen.
func (v *variety) countChosen(c *candidate) {
	for rest := c.differentBits; rest != 0; rest &= rest - 1 {
		bit := bits.TrailingZeros64(rest)
		v.takenByBit[bit] = min(v.rareUpTo, v.takenByBit[bit]+1) // bounded, since a byte would overflow
	}
}

// isRare reports whether a candidate has a value of which few are chosen, and there is a place for it.
func (v *variety) isRare(c *candidate) bool {
	for rest := c.differentBits; rest != 0 && v.placesLeft > 0; rest &= rest - 1 {
		if v.takenByBit[bits.TrailingZeros64(rest)] < v.rareUpTo {
			return true
		}
	}
	return false
}
