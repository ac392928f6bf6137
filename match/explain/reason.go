package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
)

// The values of Reason.Reason, besides those of decide.LackReason.
const (
	NotAsked   = "not_asked"  // the ticket asks for other profiles
	Unknown    = "unknown"    // there is no such profile
	Retired    = "retired"    // the profile is retired
	Function   = "function"   // a match function decides, not teams and rules
	Unreadable = "unreadable" // this release cannot read the profile or the ticket
	Seated     = "seated"     // a player of the ticket has another seat
	OwnParty   = "own_party"  // the ticket's own players break a rule
	InState    = "state"      // its state: paused, accepting, matched, or a final one
)

// reasonsOf says why a ticket is no candidate of a profile.
func reasonsOf(p *profile.Profile, t *match.Ticket, lacks []decide.Lack) []Reason {
	var all []Reason
	for _, l := range lacks {
		// The one lack stands for all filters that do not hold.
		if l.Why == decide.LacksPool {
			all = append(all, poolReasons(p, t)...)
			continue
		}
		all = append(all, Reason{Reason: string(l.Why), Text: textOf(l, p, t), Attribute: l.Attribute, Rule: l.Rule,
			Player: l.Sub})
	}
	return all
}

// LackText says in words what a ticket lacks for a profile, without the names of its players, so that tickets that lack
// the same have the same text.
func LackText(l decide.Lack, p *profile.Profile, t *match.Ticket) string {
	switch l.Why {
	case decide.LacksPool:
		// One filter is enough for a text that tickets are grouped by.
		if reasons := poolReasons(p, t); len(reasons) > 0 {
			return reasons[0].Text
		}
		return textOf(l, p, t)
	case decide.LacksAttribute:
		return fmt.Sprintf("a player has no value of attribute %s that rule %s can compare", l.Attribute, l.Rule)
	case decide.LacksSource:
		return "a player has attribute " + l.Attribute + sourceText(l.Attribute, p)
	default: // the others name no player
		return textOf(l, p, t)
	}
}

// textOf says in words what a ticket lacks, with the names of its players.
func textOf(l decide.Lack, p *profile.Profile, t *match.Ticket) string {
	switch l.Why {
	case decide.LacksPlayer:
		return "the ticket names no player"
	case decide.LacksAttribute:
		return fmt.Sprintf("player %s has no value of attribute %s that rule %s can compare", l.Sub, l.Attribute,
			l.Rule)
	case decide.LacksSource:
		return fmt.Sprintf("player %s has attribute %s", l.Sub, l.Attribute) + sourceText(l.Attribute, p)
	case decide.LacksLatency:
		return fmt.Sprintf("the ticket measured no latency, which rule %s needs", l.Rule)
	case decide.LacksRoom:
		return fmt.Sprintf("the party of %d is larger than any team", len(t.Players))
	case decide.LacksMode:
		return fmt.Sprintf("its players allow none of the modes %s", joinWords(p.Modes, "and"))
	case decide.LacksRule:
		return ruleText(p, l.Rule)
	case decide.LacksPlaces:
		return fmt.Sprintf("no team has places for its players with their roles: the roles are %s",
			joinWords(roleNames(p), "and"))
	default: // LacksPool, for which callers name the filters
		return string(l.Why)
	}
}

// sourceText returns the words that nobody vouches for an attribute as the profile asks.
func sourceText(attribute string, p *profile.Profile) string {
	declared := p.Attributes[attribute]
	if declared.From == match.FromClaim {
		return " on a weaker word than that of the claim " + declared.ClaimPath() +
			" of its access token, or a backend's"
	}
	return " on a weaker word than that of a backend"
}

// ruleText returns the words that a rule refuses the ticket alone, for a rule on latency with its limit.
func ruleText(p *profile.Profile, id string) string {
	i := slices.IndexFunc(p.Rules, func(r profile.Rule) bool { return r.ID == id })
	if i < 0 || p.Rules[i].Kind != profile.Latency {
		return "its own party breaks rule " + id
	}
	r := p.Rules[i]
	widest := r.Limits.Latency
	if n := len(r.Widen); n > 0 {
		widest = r.Widen[n-1].Limits.Latency
	}
	return fmt.Sprintf("no region that it measured, and that may host the match, is within %s, the widest limit of rule %s", widest, id)
}

// roleNames returns the roles of a profile's teams, each once, sorted.
func roleNames(p *profile.Profile) (names []string) {
	for _, t := range p.Teams {
		for _, r := range t.Roles {
			names = append(names, r.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// NeverMatches says why a ticket can be in no match of a profile, however long it waits; nil if it may be in one. A
// ticket of a request need not have an id yet.
func NeverMatches(p *profile.Profile, t *match.Ticket) []Reason {
	return reasonsOf(p, t, decide.NeverMatches(p, t))
}

// maxRefusals bounds the reasons of a Refusal.
const maxRefusals = 3

// Refusal is NeverMatches as a sentence for a player; "" for a ticket that may be in a match.
func Refusal(p *profile.Profile, t *match.Ticket) string {
	var texts []string
	for _, r := range NeverMatches(p, t) {
		texts = append(texts, r.Text)
	}
	if len(texts) == 0 {
		return ""
	}
	return fmt.Sprintf("profile %q can never match this ticket: %s", p.Name,
		strings.Join(texts[:min(len(texts), maxRefusals)], ", and "))
}

// poolReasons names each filter that does not hold.
func poolReasons(p *profile.Profile, t *match.Ticket) []Reason {
	var all []Reason
	// The filters are named below as well: a ticket that asks for the profile must also be in the pool.
	if len(t.Profiles) > 0 && !slices.Contains(t.Profiles, p.Name) {
		all = append(all, Reason{Reason: NotAsked, Text: "the ticket asks for other profiles"})
	}
	if p.Pool == nil {
		if len(t.Profiles) == 0 {
			all = append(all, Reason{Reason: NotAsked, Text: "the ticket names no profile, and this one has no pool"})
		}
		return all
	}
	// add names a filter unless it holds, which a pool of this filter alone judges.
	add := func(filter string, pool match.Pool) {
		if !pool.Holds(t.Fields) {
			all = append(all, Reason{Reason: string(decide.LacksPool),
				Text: "the pool's filter on " + filter + " does not hold", Filter: filter})
		}
	}
	for _, tag := range p.Pool.Tags {
		add("tag "+tag, match.Pool{Tags: []string{tag}})
	}
	for _, s := range p.Pool.Strings {
		add("string "+s.Arg, match.Pool{Strings: []match.StringEquals{s}})
	}
	for _, d := range p.Pool.Doubles {
		add("double "+d.Arg, match.Pool{Doubles: []match.DoubleRange{d}})
	}
	return all
}
