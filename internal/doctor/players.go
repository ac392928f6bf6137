package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lattice-director/director/internal/base/timetext"
	"github.com/lattice-director/director/internal/matching/explainer"
)

// Players who are refused, and tickets that wait.

// denials are the codes of answers that keep players from playing. Others are part of a normal day: a ticket that exists already, a match that
// has ended.
var denials = []string{
	"no_capacity", "mode_unknown", "region_unknown", "room_pending", "no_connect_tokens", "cannot_match", "profile_unknown", "profile_retired",
	"invalid_request", "unavailable", "internal", "rate_limited", "too_many_tickets", "party_too_large",
}

// denialLine is how many players were refused by one call, with one code, in one place.
type denialLine struct {
	Call, Code, Region, Mode string
	Players                  int
	Detail                   string // of the latest
	All                      int    // players who were refused, by whichever call
	Seated                   int    // players who have a seat now
}

const selectDenials = `WITH refused AS (
    SELECT call, code, coalesce(region, '') AS region, coalesce(mode, '') AS mode, player, detail, last_at FROM ops.refusals
    WHERE last_at > now() - interval '10 minutes' AND hour >= date_trunc('hour', now() - interval '10 minutes', 'UTC') AND code = ANY ($1)
)
SELECT call, code, region, mode, count(DISTINCT player) AS players, (array_agg(detail ORDER BY last_at DESC))[1] AS detail,
       (SELECT count(DISTINCT player) FROM refused) AS "all", (SELECT coalesce(sum(players), 0)::bigint FROM ops.sessions) AS seated
FROM refused GROUP BY 1, 2, 3, 4 ORDER BY players DESC, call, code LIMIT 1`

func (d Doctor) checkRefusals(ctx context.Context) (Finding, error) {
	most, err := rows[denialLine](ctx, d, selectDenials, denials)
	if err != nil {
		return Finding{}, err
	}
	return judgeRefusals(most), nil
}

// judgeRefusals takes a few refused players for a normal day: one who asks for a mode that there is not, a fleet that is full for a moment.
func judgeRefusals(most []denialLine) Finding {
	if len(most) == 0 {
		return good("no player was refused in the last ten minutes")
	}
	m := most[0]
	place := ""
	if m.Region != "" {
		place += " in region " + m.Region
	}
	if m.Mode != "" {
		place += " for mode " + m.Mode
	}
	says := fmt.Sprintf("%d players were refused in the last ten minutes, %d have a seat; mostly %s by %s%s: %s", m.All, m.Seated, m.Code, m.Call, place, m.Detail)
	do := "SELECT * FROM ops.refusals ORDER BY last_at DESC LIMIT 50; then see the section of the code"
	section := ""
	if slices.Contains([]string{"no_capacity", "mode_unknown", "region_unknown"}, m.Code) {
		do, section = "start game servers for it, or undrain some: SELECT * FROM ops.capacity", "Players get 409 no_capacity"
	}
	found := good("%s", says)
	switch share := float64(m.All) / float64(m.All+m.Seated); {
	case m.All >= 10 && share >= 0.5:
		found = failure(do, "%s", says).in(section)
	case m.All >= 3 && share >= 0.05:
		found = warning(do, "%s", says).in(section)
	}
	return found.showing(fmt.Sprint(m.All), "players were refused in ten minutes")
}

// queueLine is a universe with waiting tickets.
type queueLine struct {
	Region  string
	Tickets int
	Oldest  float64  // seconds
	Unowned []string // profiles that no worker decides for
}

const selectQueues = `SELECT q.region, q.tickets, q.oldest_seconds AS oldest,
    ARRAY(SELECT p.profile FROM ops.profiles p WHERE p.region = q.region AND p.state = 'no worker' ORDER BY 1 LIMIT 20)::text[] AS unowned
FROM ops.queue q WHERE q.tickets > 0 ORDER BY q.tickets DESC LIMIT 10`

// surveyed is how many tickets of a universe are compared with their profiles, the oldest.
const surveyed = 5000

func (d Doctor) checkTickets(ctx context.Context) (Finding, error) {
	queues, err := rows[queueLine](ctx, d, selectQueues)
	if err != nil {
		return Finding{}, err
	}
	worst := good("no ticket waits")
	for i, q := range queues {
		survey, err := explainer.New(explainer.Options{Store: d.Store, Universe: q.Region, PlayerArg: d.PlayerArg, MaxCandidates: surveyed}).Survey(ctx)
		if err != nil {
			return Finding{}, err
		}
		if found := judgeTickets(q, survey); i == 0 || badness(found.State) > badness(worst.State) {
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
	tile := func(f Finding) Finding {
		if lacking > 0 {
			return f.showing(fmt.Sprintf("%d of %d", lacking, q.Tickets), "waiting tickets can be in no match")
		}
		return f.showing(fmt.Sprint(q.Tickets), "tickets wait for a match")
	}
	switch {
	case len(q.Unowned) > 0:
		return tile(failure("start a worker: 'director work'", "%s; no worker decides for the profiles %s", says, strings.Join(q.Unowned, ", ")))
	case lacking > 0:
		l := s.Lacking[0]
		says += fmt.Sprintf("; %d of them can be in no match, mostly of profile %s: %s (%d)", lacking, profileName(l.Profile), l.Why, l.Tickets)
		const do = "director explain ticket ID; then mend the client that sends such tickets, or the profile"
		if lacking >= 5 && lacking*5 >= s.Tickets {
			return tile(failure(do, "%s", says))
		}
		return tile(warning(do, "%s", says))
	case q.Oldest > slowMatch.Seconds():
		return tile(warning("director explain ticket ID; then widen the profile's rules, or start game servers", "%s", says))
	}
	return tile(good("%s", says))
}

func profileName(name string) string {
	if name == "" {
		return "(none)"
	}
	return name
}
