package explainer

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/match/explain"
)

// Match explains a match. Errors: NotFound, "match_unknown"; Unavailable.
func (r *Reader) Match(ctx context.Context, id uuid.UUID) (explain.Match, error) {
	known, err := r.Options.Store.ExplainMatch(ctx, r.Options.Universe, id)
	if err != nil {
		return explain.Match{}, err
	}
	m := explain.Match{
		Schema: explain.Schema, MatchID: id.String(), AsOf: r.Options.Store.Now().UTC(), State: known.State,
		Profile: known.Profile, Version: known.Version,
		DecidedAt: known.DecidedAt.UTC(), CommittedAt: inUTC(known.CommittedAt), Deadline: inUTC(known.Deadline),
		Joined: known.Joined,
		Mode:   known.Mode, Region: known.Region, Session: known.Session, Host: known.Host,
		Tickets: ticketOutcomes(known.Tickets),
	}
	if known.Seed != 0 {
		m.Seed = strconv.FormatUint(known.Seed, 10)
	}
	// Matches of match functions have no reasons.
	if len(known.Why) == 0 {
		return m, nil
	}
	return m, json.Unmarshal(known.Why, &m.Why)
}

// inUTC converts a time; nil, for one that is missing, stays nil.
func inUTC(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	at := t.UTC()
	return &at
}

func ticketOutcomes(tickets []db.TicketOutcome) []explain.TicketOutcome {
	all := make([]explain.TicketOutcome, len(tickets))
	for i, t := range tickets {
		all[i] = explain.TicketOutcome{TicketID: t.ID, Outcome: t.Outcome}
		if t.WaitedFor != nil {
			ms := t.WaitedFor.Milliseconds()
			all[i].WaitedMS = &ms
		}
	}
	return all
}
