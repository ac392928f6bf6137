package profile

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/lattice-director/director/match"
)

// Canonical returns the profile as a document of JSON with every default written out. It is the same for all documents
// that mean the same, and [Parse] makes the same profile of it.
func (p *Profile) Canonical() []byte {
	var d members
	d.set("name", p.Name)
	d.set("mode", anys(p.Modes))
	if p.Pool != nil {
		// An empty one, too: without a pool, tickets that name no profile are no candidates.
		d = append(d, member{"pool", canonicalPool(*p.Pool)})
	}
	d.set("attributes", canonicalAttributes(p.Attributes))
	if p.Function == nil {
		p.canonicalDecision(&d)
	}
	if p.Accept > 0 {
		d.set("accept", members{{"within", brief(p.Accept)}})
	}
	if p.LatencyJump > 0 {
		d.set("latency_jump", brief(p.LatencyJump))
	}
	d.set("ttl", brief(p.TTL))
	if p.Data != nil {
		d.set("data", p.Data)
	}
	// An empty list, too: without the key, game servers read the attributes of the rules.
	d = append(d, member{"tell", anys(p.Tell)})
	d.set("regions", anys(p.Regions))
	if f := p.Function; f != nil {
		d.set("function", members{{"host", f.Host}, {"port", f.Port}, {"type", functions.word(f.Type)},
			{"every", brief(f.Every)}})
	}
	return encodeJSON(d)
}

// canonicalDecision sets the keys that a profile with a function does not have.
func (p *Profile) canonicalDecision(d *members) {
	d.set("teams", each(p.Teams, canonicalTeam))
	d.set("rules", each(p.Rules, canonicalRule))
	d.set("prefer", each(p.Prefer, canonicalPreference))
	d.set("fewer", each(p.Fewer, canonicalFewer))
	if p.BotsAfter > 0 {
		d.set("fill", botsText(p.BotsAfter))
	}
	if p.Autofill > 0 {
		d.set("autofill", brief(p.Autofill))
	}
	d.set("age", ages.word(p.Age))
	d.set("trade", canonicalTrade(p.Trade))
	if p.Batch.Attribute != "" {
		d.set("batch", members{{"by", p.Batch.Attribute}, {"for", brief(p.Batch.For)}})
	}
	if p.Priority.Attribute != "" {
		d.set("priority", members{{"by", p.Priority.Attribute}, {"up_to", brief(p.Priority.UpTo)}})
	}
	d.set("order", each(p.Order, canonicalOrder))
	join := members{{"when", joinings.word(p.JoinInProgress.When)}}
	if p.JoinInProgress.Within > 0 {
		join.set("within", brief(p.JoinInProgress.Within))
	}
	d.set("join_in_progress", join)
}

// each encodes the items of a list.
func each[T any](items []T, encode func(T) members) []any {
	all := make([]any, len(items))
	for i, item := range items {
		all[i] = encode(item)
	}
	return all
}

func anys(texts []string) []any {
	all := make([]any, len(texts))
	for i, text := range texts {
		all[i] = text
	}
	return all
}

func canonicalPool(p match.Pool) members {
	var texts, ranges members
	for _, s := range p.Strings {
		texts = append(texts, member{s.Arg, s.Value})
	}
	for _, r := range p.Doubles {
		var one members
		if !math.IsInf(r.Min, 0) {
			one.set("min", r.Min)
		}
		if !math.IsInf(r.Max, 0) {
			one.set("max", r.Max)
		}
		one.set("exclude", excludes.word(r.Exclude))
		ranges = append(ranges, member{r.Arg, one})
	}
	var d members
	d.set("tags", anys(p.Tags))
	d.set("strings", texts)
	d.set("doubles", ranges)
	return d
}

func canonicalAttributes(all map[string]Attribute) members {
	var d members
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a := members{{"type", types.word(all[name].Kind)}}
		if initial := all[name].Default; initial != nil {
			// Not by set, which would leave out an empty list.
			a = append(a, member{"default", canonicalValue(*initial)})
		}
		if from := all[name].From; from != match.FromClient { // left out: earlier releases refuse the key
			a = append(a, member{"from", sources.word(from)})
		}
		if claim := all[name].Claim; len(claim) > 0 {
			a = append(a, member{"claim", anys(claim)})
		}
		d = append(d, member{name, a})
	}
	return d
}

func canonicalValue(v match.Value) any {
	switch v.Kind {
	case match.Number:
		return v.Number
	case match.List:
		return anys(v.List)
	case match.Text:
	}
	return v.Text
}

func canonicalTeam(t Team) members {
	d := members{{"name", t.Name}, {"players", canonicalRange(t.Min, t.Max)}, {"step", t.Step}}
	var roles members
	for _, r := range t.Roles {
		roles = append(roles, member{r.Name, canonicalRange(r.Min, r.Max)})
	}
	d.set("roles", roles)
	d.set("allow_split", t.AllowSplit)
	return d
}

func canonicalRange(least, most int) any {
	if least == most {
		return least
	}
	return rangeText(least, most)
}

func canonicalFewer(f Fewer) members {
	var players members
	for _, name := range slices.SortedFunc(maps.Keys(f.Players), cmp.Compare[string]) {
		players = append(players, member{name, f.Players[name]})
	}
	return members{{"after", brief(f.AfterWait)}, {"players", players}}
}

func canonicalOrder(o Order) members {
	var d members
	d.set("distance", o.Distance)
	d.set("value", o.Value)
	d.set("descending", o.Descending)
	return d
}
