package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/timetext"
	"github.com/lattice-director/director/internal/matching/explainer"
)

// Players who are refused, and tickets that wait.

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
	most, err := d.newQueries().DoctorDenials(ctx, denials)
	if err != nil {
		return Finding{}, err
	}
	return judgeRefusals(convertRows[denialLine](most,
		func(r query.DoctorDenialsRow) denialLine { return denialLine(r) })), nil
}

// judgeRefusals takes a few refused players for a normal day: one who asks for a mode that there is not, a fleet that
// is full for a moment.
func judgeRefusals(most []denialLine) Finding {
	if len(most) == 0 {
		return goodFinding("no player was refused in the last ten minutes")
	}
	m := most[0]
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
	switch share := float64(m.Everyone) / float64(m.Everyone+m.Seated); {
	// Both are asked: half of two players is no outage, and ten of ten thousand are none either.
	case m.Everyone >= 10 && share >= 0.5:
		found = failureFinding(do, "%s", says).inSection(section)
	case m.Everyone >= 3 && share >= 0.05:
		found = warningFinding(do, "%s", says).inSection(section)
	}
	return found.withMeasure(fmt.Sprint(m.Everyone), "players were refused in ten minutes")
}

// queueLine is a universe with waiting tickets, and its profiles that no worker decides for.
type queueLine query.DoctorQueuesRow

func (d Doctor) checkTickets(ctx context.Context) (Finding, error) {
	queues, err := d.newQueries().DoctorQueues(ctx)
	if err != nil {
		return Finding{}, err
	}
	worst := goodFinding("no ticket waits")
	for i, q := range queues {
		survey, err := explainer.New(explainer.Options{Store: d.Store, Universe: q.Region,
			PlayerArg: d.PlayerArg}).Survey(ctx)
		if err != nil {
			return Finding{}, err
		}
		// As worstOf, but a survey may fail.
		if found := judgeTickets(queueLine(q), survey); i == 0 || severityOf(found.State) > severityOf(worst.State) {
			worst = found
		}
	}
	return worst, nil
}

// slowMatch is how long the oldest ticket of a queue that works has waited at most.
const slowMatch = 5 * time.Minute

// judgeTickets reports first what no other ticket can mend.
func judgeTickets(q queueLine, s explainer.Survey) Finding {
	oldest := timetext.Brief((time.Duration(q.Oldest * float64(time.Second))).Round(time.Second))
	says := fmt.Sprintf("%d tickets wait in %s, the oldest for %s", q.Tickets, q.Region, oldest)
	lacking := s.WithoutMatch()
	switch {
	case len(q.Unowned) > 0:
		return failureFinding("start a worker: 'director work'", "%s; no worker decides for the profiles %s", says,
			strings.Join(q.Unowned, ", "))
	case lacking > 0:
		l := s.Lacking[0]
		says += fmt.Sprintf("; %d of them can be in no match, mostly of profile %s: %s (%d)", lacking,
			profileName(l.Profile), l.Why, l.Tickets)
		const do = "director explain ticket ID; then mend the client that sends such tickets, or the profile"
		// A fifth of the queue, but not of a queue of a few: one client with a mistake is no failure of the game.
		if lacking >= 5 && lacking*5 >= s.Tickets {
			return failureFinding(do, "%s", says)
		}
		return warningFinding(do, "%s", says)
	case q.Oldest > slowMatch.Seconds():
		return warningFinding("director explain ticket ID; then widen the profile's rules, or start game servers", "%s",
			says)
	}
	return goodFinding("%s", says)
}

func profileName(name string) string {
	if name == "" {
		return "(none)"
	}
	return name
}
