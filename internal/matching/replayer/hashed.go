package replayer

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

const attributesSetting = "DIRECTOR_MATCH_HISTORY_ATTRIBUTES"

// hashForm matches a value of a hashed history: 64 bits in hex, as package ticketbody writes them.
var hashForm = regexp.MustCompile(`^[0-9a-f]{16}$`)

// needs are the attributes of a profile whose values a replay must know; for other attributes it is enough to know
// which are equal.
type needs map[string]string // by attribute: a description of what reads it

func needsOf(p *profile.Profile) needs {
	n := needs{}
	n.addRules(p.Rules)
	n.addRules(p.Preferred())
	for _, o := range p.Order {
		n[o.Distance], n[o.Value] = "order", "order"
	}
	n[p.Batch.Attribute], n[p.Priority.Attribute] = "batch", "priority"
	for name, a := range p.Attributes {
		if a.Kind == match.Number {
			n[name] = "a number"
		}
	}
	for _, t := range p.Teams {
		if len(t.Roles) > 0 {
			n[profile.AttributeRole] = "roles"
		}
	}
	if len(p.Modes) > 0 {
		n[profile.AttributeModes] = "modes"
	}
	if p.Pool != nil {
		for _, d := range p.Pool.Doubles {
			n[d.Arg] = "pool"
		}
		for _, s := range p.Pool.Strings {
			n[s.Arg] = "pool"
		}
	}
	// A profile without a batch, a priority, or a distance or value of an order left its empty name here.
	delete(n, "")
	return n
}

func (n needs) addRules(rules []profile.Rule) {
	for i := range rules {
		r := &rules[i]
		switch r.Kind {
		case profile.Near, profile.Balance, profile.Comparison, profile.Count:
			for _, attribute := range r.Measured() {
				n[attribute] = "rule " + r.ID
			}
		case profile.Same, profile.Different, profile.Common, profile.Avoid, profile.Sizes, profile.PartySizes,
			profile.Latency, profile.Or, profile.And, profile.Not:
			// These compare for equality, which hashes keep, or compare no attributes, or have rules of their own.
		}
		n.addRules(r.Rules)
	}
}

// refuseHashed returns an error if a value that the replay must know (see needs) is recorded as a hash.
func (n needs) refuseHashed(t *match.Ticket) error {
	for _, p := range t.Players {
		for name, by := range n {
			v := p.Attributes[name]
			// A recording hashes all values of a list or none: one plain value shows that none is hashed, even if another
			// one looks like a hash.
			isHashedList := v.Kind == match.List && len(v.List) > 0 && !slices.ContainsFunc(v.List, isPlain)
			if v.Kind == match.Text && !isPlain(v.Text) || isHashedList {
				return fmt.Errorf("attribute %q, which %s reads, is recorded as a hash: a replay needs %s=plain "+
					"from before the time that it replays", name, by, attributesSetting)
			}
		}
	}
	return nil
}

// isPlain reports whether a text is no hash.
func isPlain(text string) bool { return !hashForm.MatchString(text) }
