package explain

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lattice-director/director/match"
)

// Text returns the document as text: a line with the answer for each profile, and the details below it.
func (t Ticket) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "ticket %s: %s%s", t.TicketID, strings.ReplaceAll(t.State, "_", " "), t.ageText())
	if t.Reason != "" {
		// A reason of a later release has no words here, and stands alone.
		fmt.Fprintf(&b, " (%s)", strings.TrimSuffix(t.Reason+": "+match.EndingInWords(t.Reason), ": "))
	}
	if t.MatchID != "" {
		fmt.Fprintf(&b, ", match %s", t.MatchID)
	}
	b.WriteString("\n")
	t.writeSources(&b)
	t.writeClaimed(&b)
	for i := range t.Profiles {
		t.Profiles[i].writeTo(&b, t)
	}
	if len(t.NotExplained) > 0 {
		fmt.Fprintf(&b, "not explained, since there are too many: %s\n", strings.Join(t.NotExplained, ", "))
	}
	if t.Partial {
		fmt.Fprintf(&b, "only %d other tickets were read; there are more\n", t.Read)
	}
	return b.String()
}

func (t Ticket) ageText() string {
	if t.CreatedAt.IsZero() {
		return ""
	}
	return ", " + t.AsOf.Sub(t.CreatedAt).Round(100*time.Millisecond).String() + " old"
}

// writeTo writes the explanation of the ticket in the profile.
func (p *Profile) writeTo(b *strings.Builder, t Ticket) {
	fmt.Fprintf(b, "\n%s", p.Name)
	if p.Version > 0 {
		fmt.Fprintf(b, " v%d", p.Version)
	}
	if !p.Candidate {
		b.WriteString(": no candidate")
	} else {
		b.WriteString(": " + p.summaryLine(t.AsOf))
	}
	b.WriteString("\n")
	for _, r := range p.Why {
		fmt.Fprintf(b, "  %s\n", r.Text)
	}
	p.writeSteps(b, t.AsOf)
	if p.HeadStart > 0 {
		fmt.Fprintf(b, "  priority: it takes its turn as if it had waited for %s s longer\n", formatNumber(p.HeadStart))
	}
	p.writeFunnel(b)
	if n := p.Nearest; n != nil && p.Match == nil {
		fmt.Fprintf(b, "  nearest that cannot play with it: %s, which fails %s\n", n.TicketID, failsText(n.Fails))
	}
	for _, r := range p.Regions {
		r.writeTo(b)
	}
	if p.NoHost != "" {
		fmt.Fprintf(b, "  %s\n", p.NoHost)
	}
}

// summaryLine returns the answer at a time in one line.
func (p *Profile) summaryLine(now time.Time) string {
	var says []string
	switch {
	case p.Joins != "":
		says = append(says, "it can join session "+p.Joins)
	case p.Match != nil:
		when := "can be matched now"
		if p.MatchAt != nil {
			when = fmt.Sprintf("will be matched in %s at the latest, by the profile's trade,",
				p.MatchAt.Sub(now).Round(100*time.Millisecond))
		}
		says = append(says, fmt.Sprintf("it %s with %s", when, otherTickets(len(p.Match)-1)))
		// By the rules the ticket can be matched, but its match would wait for a host.
		if p.NoHost != "" || p.lacksRegion() {
			says = append(says, "no game region has a server for the match")
		}
	case p.Others == 0 && len(p.WouldMatch) == 0:
		return "no other ticket is a candidate"
	case p.Best != nil:
		says = append(says, p.lastLeft(), p.Best.sizeText())
	}
	if len(p.WouldMatch) > 0 {
		var each []string
		for _, l := range p.WouldMatch {
			each = append(each, l.WouldText())
		}
		says = append(says, "would match if "+strings.Join(each, ", or "))
	} else if p.Match == nil && p.Joins == "" {
		says = append(says, "no change of a single rule would give a match")
	}
	if p.Search == "bounded" {
		says = append(says, "as far as the search went")
	}
	return strings.Join(slices.DeleteFunc(says, func(s string) bool { return s == "" }), "; ")
}

// lacksRegion reports whether no region can host a match.
func (p *Profile) lacksRegion() bool {
	return len(p.Regions) > 0 && !slices.ContainsFunc(p.Regions, func(r Region) bool { return r.Refused == "" })
}

// lastLeft returns in words how many of the others pass all rules over pairs.
func (p *Profile) lastLeft() string {
	// The last stage with a count has what all stages leave.
	for _, f := range slices.Backward(p.Funnel) {
		if f.Left != nil {
			return fmt.Sprintf("%d of %d others pass the rules in a pair", *f.Left, p.Others)
		}
	}
	return otherTickets(p.Others)
}

func otherTickets(n int) string {
	if n == 1 {
		return "1 other ticket"
	}
	return fmt.Sprintf("%d other tickets", n)
}

func (b Best) sizeText() string {
	text := fmt.Sprintf("best %d of %d players", b.Players, b.Of)
	if len(b.Lacks) == 0 {
		return text
	}
	var lacks []string
	for _, role := range slices.Sorted(maps.Keys(b.Lacks)) {
		lacks = append(lacks, fmt.Sprintf("%s %d", role, b.Lacks[role]))
	}
	return text + ", lacks " + strings.Join(lacks, ", ")
}

// WouldText returns what would have to hold of the rule, for a sentence that begins with "would match if".
func (l Limits) WouldText() string {
	if l.Any {
		return "there were no " + l.Rule
	}
	return l.Rule + " allowed " + l.text()
}

// text returns the limits without the name of the rule.
func (l Limits) text() string {
	var parts []string
	add := func(name string, x *float64) {
		if x != nil {
			parts = append(parts, name+formatNumber(*x))
		}
	}
	count := func(name string, n *int) {
		if n != nil {
			parts = append(parts, name+strconv.Itoa(*n))
		}
	}
	add("", l.Within)
	add("", l.To)
	count("at least ", l.AtLeast)
	count("at least ", l.Min)
	count("at most ", l.Max)
	if l.LatencyMS != nil {
		parts = append(parts, formatNumber(*l.LatencyMS)+" ms")
	}
	if l.SpreadMS != nil {
		parts = append(parts, "a spread of "+formatNumber(*l.SpreadMS)+" ms")
	}
	if l.Players != nil {
		parts = append(parts, fmt.Sprintf("%d players", *l.Players))
	}
	if l.Any {
		return "any"
	}
	return strings.Join(parts, ", ")
}

func (p *Profile) writeSteps(b *strings.Builder, now time.Time) {
	for _, s := range p.Steps {
		text := s.text()
		// Autofill has no limit to show before it has taken effect.
		if s.Rule == stepAutofill && !s.Any {
			text = "not yet: its own roles"
		}
		fmt.Fprintf(b, "  step: %s %s", s.Rule, text)
		if s.NextAt != nil {
			fmt.Fprintf(b, ", wider in %s", s.NextAt.Sub(now).Round(100*time.Millisecond))
		}
		b.WriteString("\n")
	}
}

func (p *Profile) writeFunnel(b *strings.Builder) {
	// Without other candidates, every stage would be 0.
	if len(p.Funnel) == 0 || p.Others == 0 {
		return
	}
	fmt.Fprintf(b, "  candidates: %s\n", otherTickets(p.Others))
	for _, f := range p.Funnel {
		switch {
		case f.Holds != nil:
			fmt.Fprintf(b, "  %6d left after %s, which %d satisfy\n", *f.Left, f.Rule, *f.Holds)
		case f.Left != nil:
			fmt.Fprintf(b, "  %6d left after %s\n", *f.Left, f.Rule)
		case f.Value != nil:
			fmt.Fprintf(b, "         %s: best reached %s, limit %s\n", f.Rule, formatNumber(*f.Value),
				formatNumber(*f.Limit))
		default:
			fmt.Fprintf(b, "         %s: not reached\n", f.Rule)
		}
	}
}

func (r Region) writeTo(b *strings.Builder) {
	latency := "not measured"
	if r.MS != nil {
		latency = fmt.Sprintf("%d ms", *r.MS)
	}
	fmt.Fprintf(b, "  region %s: %s, room for %d", r.Region, latency, r.Room)
	if r.Refused != "" {
		b.WriteString(": " + r.Refused)
	}
	b.WriteString("\n")
}

func failsText(all []Fail) string {
	var each []string
	for _, f := range all {
		text := f.Rule
		// Both are 0 where nothing is measured, such as size, mode and player.
		if f.Value > f.Limit {
			text += fmt.Sprintf(" (%s, limit %s)", formatNumber(f.Value), formatNumber(f.Limit))
		}
		each = append(each, text)
	}
	return strings.Join(each, ", ")
}

// formatNumber writes at most three decimals.
func formatNumber(x float64) string {
	text := strconv.FormatFloat(x, 'f', 3, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}
