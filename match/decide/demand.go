package decide

// demand is what a match needs at least.
type demand struct {
	players int
	roles   []int // by role
}

// metBy reports whether so many players with such roles may be enough. A player that would take several roles counts for
// each, so that true promises nothing.
func (d *demand) metBy(n *counts) bool {
	if n.players < d.players {
		return false
	}
	for role, need := range d.roles {
		if need > 0 && (role >= len(n.roles) || n.roles[role] < need) {
			return false
		}
	}
	return true
}

// offers reports whether the candidates with keys from low to high may meet the demand. It stops counting at the leaf where
// they do.
func (t *tree) offers(low, high float64, d *demand, sum *counts) bool {
	if !d.metBy(&t.total) {
		return false
	}
	*sum = counts{roles: sum.roles[:0]}
	for at := t.seek(low); !t.ended(at); at = (cursor{at.leaf + 1, 0}) {
		l := t.leaves[at.leaf]
		if at.pos == 0 && t.tops[at.leaf].key <= high {
			sum.merge(&l.counts)
		} else {
			l.countUpTo(at.pos, high, sum)
		}
		if d.metBy(sum) {
			return true
		}
		if t.tops[at.leaf].key > high {
			return false
		}
	}
	return d.metBy(sum)
}

func (l *leaf) countUpTo(from int, high float64, sum *counts) {
	for _, e := range l.entries[from:] {
		if e.key > high {
			return
		}
		sum.add(e.c, 1)
	}
}
