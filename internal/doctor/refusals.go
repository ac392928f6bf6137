package doctor

import (
	"context"
	"fmt"
	"slices"

	"github.com/lattice-director/director/db/query"
)

// denials are the codes of answers that keep players from playing. Others are part of a normal day: a ticket that
// exists already, a match that has ended.
var denials = []string{
	"no_capacity", "mode_unknown", "region_unknown", "room_pending", "no_connect_tokens", "cannot_match",
	"profile_unknown", "profile_retired",
	"invalid_request", "unavailable", "internal", "rate_limited", "too_many_tickets", "party_too_large",
	"login_queue_full",
}

// denialLine is how many players were refused by one call, with one code, in one place; Everyone counts those who were
// refused by whichever call, and Seated those who have a seat now.
type denialLine query.DoctorDenialsRow

func (d Doctor) checkRefusals(ctx context.Context) (Finding, error) {
	rows, err := d.newQueries().DoctorDenials(ctx, denials)
	if err != nil {
		return Finding{}, err
	}
	return judgeRefusals(convertRows[denialLine](rows,
		func(r query.DoctorDenialsRow) denialLine { return denialLine(r) })), nil
}

// judgeRefusals takes a few refused players for a normal day: one who asks for a mode that there is not, a fleet that
// is full for a moment.
func judgeRefusals(lines []denialLine) Finding {
	if len(lines) == 0 {
		return goodFinding("no player was refused in the last ten minutes")
	}
	// The lines begin with that of the most players.
	m := lines[0]
	place := ""
	if m.Region != "" {
		place += " in region " + m.Region
	}
	if m.Mode != "" {
		place += " for mode " + m.Mode
	}
	says := fmt.Sprintf("%d players were refused in the last ten minutes, %d have a seat; mostly %s by %s%s: %s",
		m.Everyone, m.Seated, m.Code, m.Call, place, m.Detail)
	do := "SELECT * FROM ops.refusals ORDER BY last_at DESC LIMIT 50; then see the section of the code"
	section := ""
	// Three codes for one cause: no server takes players there.
	if slices.Contains([]string{"no_capacity", "mode_unknown", "region_unknown"}, m.Code) {
		do = "start game servers for it, or undrain some: SELECT * FROM ops.capacity"
		section = "Players get 409 no_capacity"
	}
	found := goodFinding("%s", says)
	share := float64(m.Everyone) / float64(m.Everyone+m.Seated)
	switch {
	// Both the number and the share count: half of two players is no outage, and ten of ten thousand are none either.
	case m.Everyone >= 10 && share >= 0.5:
		found = failureFinding(do, "%s", says).inSection(section)
	case m.Everyone >= 3 && share >= 0.05:
		found = warningFinding(do, "%s", says).inSection(section)
	}
	return found.withFigure(fmt.Sprint(m.Everyone), "players were refused in ten minutes")
}
