package profile

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/lattice-director/director/match"
)

// Canonical returns the profile as a document of JSON with every default written out. Documents that mean the same have
// the same canonical form, and [Parse] makes the same profile of it.
func (p *Profile) Canonical() []byte {
	var d members
	d.setMember("name", p.Name)
	d.setMember("mode", anyTexts(p.Modes))
	if p.Pool != nil {
		// An empty pool is written, too: without one, tickets that name no profile are no candidates.
		d = append(d, member{"pool", canonicalPool(*p.Pool)})
	}
	d.setMember("attributes", canonicalAttributes(p.Attributes))
	// Beside a function, Parse refuses these keys even with their defaults.
	if p.Function == nil {
		p.canonicalDecision(&d)
	}
	// 0 says that these two keys are absent: their shapes do not take 0.
	if p.Accept > 0 {
		d.setMember("accept", members{{"within", briefDuration(p.Accept)}})
	}
	if p.LatencyJump > 0 {
		d.setMember("latency_jump", briefDuration(p.LatencyJump))
	}
	d.setMember("ttl", briefDuration(p.TTL))
	if p.Data != nil {
		d.setMember("data", p.Data)
	}
	// An empty list is written, too: without the key, game servers read the attributes of the rules.
	d = append(d, member{"tell", anyTexts(p.Tell)})
	d.setMember("regions", anyTexts(p.Regions))
	if f := p.Function; f != nil {
		d.setMember("function", members{{"host", f.Host}, {"port", f.Port}, {"type", functions.wordFor(f.Type)},
			{"every", briefDuration(f.Every)}})
	}
	return encodeJSON(d)
}

// canonicalDecision sets the keys that a profile with a function does not have.
func (p *Profile) canonicalDecision(d *members) {
	d.setMember("teams", encodeEach(p.Teams, canonicalTeam))
	d.setMember("rules", encodeEach(p.Rules, canonicalRule))
	d.setMember("prefer", encodeEach(p.Prefer, canonicalPreference))
	d.setMember("fewer", encodeEach(p.Fewer, canonicalFewer))
	// 0 is no waiting time that the keys fill and autofill take: they are absent.
	if p.BotsAfter > 0 {
		d.setMember("fill", botsText(p.BotsAfter))
	}
	if p.Autofill > 0 {
		d.setMember("autofill", briefDuration(p.Autofill))
	}
	d.setMember("age", ages.wordFor(p.Age))
	d.setMember("trade", canonicalTrade(p.Trade))
	// The key is left out where it would be oldest, which Parse reads as no batch.
	if p.Batch.Attribute != "" {
		d.setMember("batch", members{{"by", p.Batch.Attribute}, {"for", briefDuration(p.Batch.For)}})
	}
	if p.Priority.Attribute != "" {
		d.setMember("priority", members{{"by", p.Priority.Attribute}, {"up_to", briefDuration(p.Priority.UpTo)}})
	}
	d.setMember("order", encodeEach(p.Order, canonicalOrder))
	join := members{{"when", joinings.wordFor(p.JoinInProgress.When)}}
	if p.JoinInProgress.Within > 0 {
		join.setMember("within", briefDuration(p.JoinInProgress.Within))
	}
	d.setMember("join_in_progress", join)
}

// canonicalPool returns the filters of a pool; an empty pool is an empty mapping.
func canonicalPool(p match.Pool) members {
	var texts, ranges members
	// Sorted already, as the doubles and tags are: see convertPool.
	for _, s := range p.Strings {
		texts = append(texts, member{s.Arg, s.Value})
	}
	for _, r := range p.Doubles {
		var one members
		// An end that the document leaves out is infinite, for which JSON has no number.
		if !math.IsInf(r.Min, 0) {
			one.setMember("min", r.Min)
		}
		if !math.IsInf(r.Max, 0) {
			one.setMember("max", r.Max)
		}
		one.setMember("exclude", excludes.wordFor(r.Exclude))
		ranges = append(ranges, member{r.Arg, one})
	}
	var d members
	d.setMember("tags", anyTexts(p.Tags))
	d.setMember("strings", texts)
	d.setMember("doubles", ranges)
	return d
}

func canonicalAttributes(all map[string]Attribute) members {
	var d members
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a := members{{"type", types.wordFor(all[name].Kind)}}
		if initial := all[name].Default; initial != nil {
			// Not by setMember, which would leave out an empty list.
			a = append(a, member{"default", canonicalValue(*initial)})
		}
		// The default is left out, since earlier releases refuse the key.
		if from := all[name].From; from != match.FromClient {
			a = append(a, member{"from", sources.wordFor(from)})
		}
		if claim := all[name].Claim; len(claim) > 0 {
			a = append(a, member{"claim", anyTexts(claim)})
		}
		d = append(d, member{name, a})
	}
	return d
}

func canonicalTeam(t Team) members {
	d := members{{"name", t.Name}, {"players", canonicalRange(t.Min, t.Max)}, {"step", t.Step}}
	var roles members
	for _, r := range t.Roles {
		roles = append(roles, member{r.Name, canonicalRange(r.Min, r.Max)})
	}
	d.setMember("roles", roles)
	d.setMember("allow_split", t.AllowSplit)
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
	// Sorted: a map has no order, and equal profiles must have the same bytes.
	for _, name := range slices.Sorted(maps.Keys(f.Players)) {
		players = append(players, member{name, f.Players[name]})
	}
	return members{{"after", briefDuration(f.AfterWait)}, {"players", players}}
}

func canonicalOrder(o Order) members {
	var d members
	d.setMember("distance", o.Distance)
	d.setMember("value", o.Value)
	d.setMember("descending", o.Descending)
	return d
}

// rateText returns the rate as a document has it.
func (t Trade) rateText() string {
	unit := ""
	if t.Quality == OfLatency {
		unit = "ms"
	}
	return shortestNumber(t.PerSecond) + unit + " per second"
}

func canonicalTrade(all []Trade) (d members) {
	for _, t := range all {
		d = append(d, member{t.Key(), t.rateText()})
	}
	return d
}

// botsText returns the value of the key fill.
func botsText(after time.Duration) string { return botsPrefix + briefDuration(after) }
