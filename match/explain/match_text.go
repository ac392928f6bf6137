package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Text returns the document as text.
func (m Match) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "match %s of %s v%d is %s: %d tickets", m.MatchID, m.Profile, m.Version, m.State, len(m.Tickets))
	if m.Joined {
		b.WriteString(", who joined the match in this session")
	}
	fmt.Fprintf(&b, "\n  decided at %s%s\n", m.DecidedAt.Format(time.RFC3339Nano), m.sinceText())
	// Without a session, the match has no place yet, or its place is not known any more.
	if m.Session != "" {
		fmt.Fprintf(&b, "  session %s, mode %s, region %s%s\n", m.Session, m.Mode, m.Region, m.hostText())
	}
	for _, r := range m.Rules {
		fmt.Fprintf(&b, "  rule %s: %s\n", r.Rule, r.limitText())
	}
	for _, t := range m.Traded {
		fmt.Fprintf(&b, "  trade %s: costs a player %s, or %.3g s of waiting\n", t.Of, formatNumber(t.Value),
			t.Value/t.PerSecond)
	}
	for _, p := range m.Preferences {
		verdict := "does not hold"
		if p.Holds {
			verdict = "holds"
		}
		fmt.Fprintf(&b, "  preference %s, weight %s: %s\n", p.Rule, formatNumber(p.Weight), verdict)
	}
	for _, t := range m.Teams {
		fmt.Fprintf(&b, "  team %s: %s\n", t.Name, strings.Join(t.Tickets, ", "))
	}
	for _, team := range slices.Sorted(maps.Keys(m.Bots)) {
		fmt.Fprintf(&b, "  bots of team %s: %d when it was decided\n", team, m.Bots[team])
	}
	for _, r := range m.Regions {
		fmt.Fprintf(&b, "  suited region %s: %s\n", r.Region, r.latencyText())
	}
	m.writeTickets(&b)
	for _, p := range m.PassedOver {
		fmt.Fprintf(&b, "  passed over %s: %s\n", p.Ticket, p.Because)
	}
	// Last, since it is about everything above.
	if m.Truncated {
		b.WriteString("  more was known when it was decided, and did not fit into the history\n")
	}
	return b.String()
}

func (r MatchRegion) latencyText() string {
	if r.Worst == nil {
		return "not measured by all players"
	}
	return fmt.Sprintf("at most %d ms", *r.Worst)
}

// sinceText returns what the line about the decision says after its time.
func (m Match) sinceText() string {
	text := ""
	if m.Anchor != "" {
		text = " around ticket " + m.Anchor
	}
	if m.Seed != "" {
		text += ", seed " + m.Seed
	}
	if m.CommittedAt != nil {
		text += fmt.Sprintf(", committed %s later", m.CommittedAt.Sub(m.DecidedAt).Round(100*time.Microsecond))
	}
	if m.Deadline != nil {
		text += ", its players have until " + m.Deadline.Format(time.RFC3339)
	}
	return text
}

func (m Match) hostText() string {
	if m.Host == "" {
		return ""
	}
	return ", host " + m.Host
}

func (r MatchRule) limitText() string {
	// The rule measured nothing.
	if r.Text == "ended" {
		return "ended by its last step"
	}
	text := fmt.Sprintf("%s, limit %s", formatNumber(r.Value), formatNumber(r.Limit))
	if r.Text != "" {
		return r.Text + " (" + text + ")"
	}
	return text
}

// writeTickets lists the tickets with their outcomes.
func (m Match) writeTickets(b *strings.Builder) {
	for _, t := range m.Tickets {
		fmt.Fprintf(b, "  ticket %s", t.TicketID)
		if t.Outcome != "" {
			fmt.Fprintf(b, ": %s", strings.ReplaceAll(t.Outcome, "_", " "))
		}
		if t.WaitedMS != nil {
			fmt.Fprintf(b, " after %s", time.Duration(*t.WaitedMS)*time.Millisecond)
		}
		if m.hasJoinedLater(t.TicketID) {
			b.WriteString(", joined later")
		}
		b.WriteString("\n")
	}
}

// hasJoinedLater reports whether a ticket is in no team of the decision.
func (m Match) hasJoinedLater(ticket string) bool {
	isThere := func(t MatchTeam) bool { return slices.Contains(t.Tickets, ticket) }
	// Where the teams are not known, nobody is known to have joined later.
	return len(m.Teams) > 0 && !slices.ContainsFunc(m.Teams, isThere)
}
