package db

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// KnownMatch is a decided match, as far as the database still has it.
type KnownMatch struct {
	ID          uuid.UUID
	State       string // proposed, accepted, playing or ended
	Profile     string
	Version     int
	Seed        uint64 // 0: not known
	DecidedAt   time.Time
	CommittedAt *time.Time // nil: it is not committed, or has no history
	Deadline    *time.Time // of a ready check
	Joined      bool       // its players joined a match that was already playing
	Mode        string
	Region      string // the game region; "" for a match without seats and one that is not committed
	Session     string // its id
	Host        string // the instance; "" where it is no longer known
	Tickets     []TicketOutcome
	Why         json.RawMessage // explains the decision; nil: not known
}

// TicketOutcome is the latest state of a ticket.
type TicketOutcome struct {
	ID        string
	Outcome   string         // a state; "" where it is not known
	WaitedFor *time.Duration // until it left the queue; nil: not known, or it has not left
}

// outcomeSlack is how long before the decision of a match the search for the states of its tickets begins: the clocks
// of replicas and of the database may differ.
const outcomeSlack = time.Minute

// ExplainMatch returns a match from its row or its history. Errors: NotFound, "match_unknown"; Unavailable.
func (s *Store) ExplainMatch(ctx context.Context, universe string, id uuid.UUID) (KnownMatch, error) {
	m, err := s.rememberedMatch(ctx, universe, id)
	// Most matches are looked for after they were committed. A proposed match, or one of a director that keeps no
	// history, has a row only.
	if errors.Is(err, pgx.ErrNoRows) {
		m, err = s.currentMatch(ctx, universe, id)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return m, fault.New(fault.NotFound, "match_unknown",
			"match %s is not known: matches are remembered for DIRECTOR_MATCH_HISTORY after they were committed", id)
	}
	if err != nil {
		return m, frame.Classify(err)
	}
	ids := make([]string, len(m.Tickets))
	for i, t := range m.Tickets {
		ids[i] = t.ID
	}
	m.Tickets, err = s.TicketOutcomes(ctx, universe, ids, m.DecidedAt.Add(-outcomeSlack))
	return m, err
}

// rememberedMatch returns a match by its history, which is written with its commit.
func (s *Store) rememberedMatch(ctx context.Context, universe string, id uuid.UUID) (KnownMatch, error) {
	r, err := s.q.RememberedMatch(ctx, query.RememberedMatchParams{Universe: universe, ID: id})
	if err != nil {
		return KnownMatch{}, err
	}
	m := KnownMatch{
		ID: id, State: "ended", Profile: r.Profile, Version: int(r.Version), Seed: uint64(r.Seed),
		DecidedAt: r.DecidedAt, CommittedAt: &r.CommittedAt,
		Joined: r.Joined, Mode: r.Mode, Region: r.GameRegion, Host: r.Host, Why: r.Why,
		Tickets: unknownOutcomes(r.Tickets),
	}
	if r.Playing {
		m.State = "playing"
	}
	if r.SessionID != nil {
		m.Session = sessionID(r.GameRegion, *r.SessionID)
	}
	return m, nil
}

// currentMatch returns a match by its row in matches, which has the decision.
func (s *Store) currentMatch(ctx context.Context, universe string, id uuid.UUID) (KnownMatch, error) {
	r, err := s.q.CurrentMatch(ctx, query.CurrentMatchParams{Universe: universe, ID: id})
	if err != nil {
		return KnownMatch{}, err
	}
	m := KnownMatch{
		ID: id, State: r.State, Profile: r.Profile, Version: int(r.Version), DecidedAt: r.DecidedAt,
		Deadline: r.Deadline, Mode: r.Mode, Host: r.Host,
		Tickets: unknownOutcomes(r.Tickets),
	}
	// nil: the match is not committed, or needs no session.
	if r.SessionID != nil {
		m.Region, m.Session = r.Region, sessionID(r.Region, *r.SessionID)
	}
	var decision NewMatch
	if err := json.Unmarshal(r.Decision, &decision); err != nil {
		return m, err
	}
	m.Seed, m.Why = decision.Seed, decision.Why
	return m, nil
}

// unknownOutcomes returns tickets of which nothing but the id is known.
func unknownOutcomes(ids []string) []TicketOutcome {
	all := make([]TicketOutcome, len(ids))
	for i, id := range ids {
		all[i].ID = id
	}
	return all
}

// TicketOutcomes returns the latest states of tickets since a moment, in the order of the ids. Errors: Unavailable.
func (s *Store) TicketOutcomes(ctx context.Context, universe string, ids []string,
	since time.Time) ([]TicketOutcome, error) {
	rows, err := s.q.TicketOutcomes(ctx, query.TicketOutcomesParams{Universe: universe, Ids: ids, Since: since})
	if err != nil {
		return nil, frame.Classify(err)
	}
	found := map[string]TicketOutcome{}
	for _, r := range rows {
		t := TicketOutcome{ID: r.ID, Outcome: r.Outcome}
		if r.Remembered {
			t.WaitedFor = &r.Waited
		}
		found[r.ID] = t
	}
	all := unknownOutcomes(ids)
	for i, t := range all {
		all[i].Outcome, all[i].WaitedFor = found[t.ID].Outcome, found[t.ID].WaitedFor
	}
	return all, nil
}

// HeldSeat is a seat that keeps its player from being matched into another one of its mode.
type HeldSeat struct{ Sub, Mode, Session string }

// HeldSeats returns the seats in some game regions that keep a ticket of the players, created at a time, from being
// matched: seats that the players resolved and have not connected to, and seats that a match gave them after that time.
// Errors: Unavailable.
func (s *Store) HeldSeats(ctx context.Context, regions, subs []string, ticketCreated time.Time) ([]HeldSeat, error) {
	var held []HeldSeat
	for _, region := range regions {
		rows, err := s.q.SeatsAround(ctx, query.SeatsAroundParams{Region: region, Subs: subs})
		if err != nil {
			return nil, frame.Classify(err)
		}
		for _, r := range rows {
			if keepsQueuedSince(r, ticketCreated) {
				held = append(held, HeldSeat{r.Sub, r.Mode, sessionID(region, r.SessionID)})
			}
		}
	}
	return held, nil
}

// ReadCandidates returns the same page as [Store.CandidatesAfter], and whether it is full. It uses a connection for
// large reads, so that a caller that pages through the whole queue delays no others. Errors: TooMany, Unavailable.
func (s *Store) ReadCandidates(ctx context.Context, universe, after string) (page []Candidate, full bool, err error) {
	err = s.read(ctx, func(ctx context.Context, q *query.Queries) error {
		rows, err := q.CandidatesAfter(ctx,
			query.CandidatesAfterParams{Region: universe, After: after, PendingFor: s.cfg.Timing.PendingFor,
				Page: queuePage})
		for _, r := range rows {
			page = append(page, candidateOf(query.CandidatesSinceRow(r)))
		}
		full = len(rows) == queuePage
		return err
	})
	return page, full, err
}

// TicketsBeginning returns the ids of queued tickets that begin with a prefix, those of the 100 oldest at most. Errors:
// Unavailable.
func (s *Store) TicketsBeginning(ctx context.Context, prefix string) ([]string, error) {
	ids, err := s.q.TicketsBeginning(ctx, prefix)
	return ids, frame.Classify(err)
}
