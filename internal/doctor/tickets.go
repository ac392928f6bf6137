package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/timetext"
	"github.com/lattice-director/director/internal/matching/explainer"
)

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

// slowMatch is the age of the oldest ticket from which on a queue is slow.
const slowMatch = 5 * time.Minute

// judgeTickets reports first what further tickets cannot mend.
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
