package play

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// ticket is the document of a ticket. Which fields it has depends on the state.
type ticket struct {
	TicketID string         `json:"ticket_id"`
	State    db.TicketState `json:"state"`
	Version  int            `json:"version"`
	Profiles []string       `json:"profiles,omitempty"`
	Party    []string       `json:"party"`

	*outlook // nil in states in which a ticket does not wait

	// NextTicketID is the ticket with which the player has waited since the match was evacuated
	NextTicketID string `json:"next_ticket_id,omitempty"`

	MatchID string      `json:"match_id,omitempty"`
	Accept  *readyCheck `json:"accept,omitempty"`

	SessionHandle string `json:"session_handle,omitempty"`
	Endpoint      string `json:"endpoint,omitempty"`
	Region        string `json:"region,omitempty"`
	Team          string `json:"team,omitempty"`
	// Teams are those of all players, for a backend
	Teams map[string]string `json:"teams,omitempty"`

	Reason string `json:"reason,omitempty"`
	Detail string `json:"detail,omitempty"` // the reason in words

	isNew bool // the request that is answered has made it
}

// Status returns 201 for a new ticket, and 200 for one that was there before the request.
func (t ticket) Status() int {
	if t.isNew {
		return http.StatusCreated
	}
	return http.StatusOK
}

// outlook is what a waiting ticket may expect.
type outlook struct {
	Place    int       `json:"place,omitempty"`
	Estimate *estimate `json:"estimate"` // null: too few tickets were matched of late
	Step     *step     `json:"step,omitempty"`
}

// step is how far the first rule that widens has widened.
type step struct {
	Rule      string     `json:"rule"`
	Within    *float64   `json:"within,omitempty"`
	LatencyMS *int64     `json:"latency_ms,omitempty"`
	Ended     bool       `json:"ended,omitempty"`
	NextAt    *time.Time `json:"next_at,omitempty"`
}

type readyCheck struct {
	Until    time.Time `json:"until"`
	Players  int       `json:"players"`
	Accepted int       `json:"accepted"`
	You      bool      `json:"you"`
	Declined bool      `json:"declined,omitempty"`
}

// documentOf returns what the player sub sees of a ticket. What depends on the rest of the queue is left out where it
// cannot be read.
func (f ticketFace) documentOf(ctx context.Context, t db.PlayerTicket, sub string) ticket {
	d := ticket{
		TicketID: t.ID, State: t.State, Version: t.StateVersion, Profiles: t.ProfileNames, Party: t.Party,
		MatchID: t.MatchID, Reason: t.FinalReason, Detail: match.EndingInWords(t.FinalReason),
		NextTicketID: t.NextTicket,
	}
	if c := t.ReadyCheck; c != nil {
		d.Accept = &readyCheck{c.AnswerUntil.UTC(), c.PlayerCount, c.AcceptedCount, c.YouAccepted, c.IsDeclined}
	}
	switch {
	case t.MatchSeat != nil:
		seat := t.MatchSeat
		d.SessionHandle, d.Endpoint, d.Region, d.Team = seat.SessionHandle, seat.Endpoint, seat.Region, seat.Teams[sub]
	case t.EncodedAssignment != nil:
		d.Endpoint, _ = ticketbody.Connection(t.EncodedAssignment) // a client of Open Match may have stored anything
	}
	// A ticket in any other state waits for nothing that can be estimated.
	if t.State == db.TicketQueued || t.State == db.TicketWaitingForServer {
		d.outlook = f.outlookOf(ctx, t)
	}
	return d
}

// outlookOf returns what a waiting ticket may expect of the first of its profiles.
func (f ticketFace) outlookOf(ctx context.Context, t db.PlayerTicket) *outlook {
	o := new(outlook)
	if len(t.ProfileNames) == 0 {
		return o
	}
	// The names are sorted, so that a client shows the place in the same queue each time.
	o.Place = f.places.placeIn(ctx, t.ProfileNames[0], t.CreatedAt)
	if f.tickets.Profiles == nil {
		return o
	}
	if p, err := f.tickets.Profiles.LiveProfile(ctx, t.ProfileNames[0]); err == nil {
		o.Step, o.Estimate = stepOf(p, t.CreatedAt, f.tickets.Store.Now()), f.estimates.estimateFor(ctx, p, t.Body)
	}
	return o
}

// stepOf returns the step of the first rule that widens; nil without one.
func stepOf(p *profile.Profile, created, now time.Time) *step {
	for _, r := range p.Rules {
		if len(r.Widen) > 0 {
			return stepAt(r, created, now)
		}
	}
	return nil
}

// stepAt returns how far a rule has widened for a ticket that was created then, and when it widens next.
func stepAt(r profile.Rule, created, now time.Time) *step {
	limits, s := r.Limits, &step{Rule: r.ID}
	for _, w := range r.Widen {
		at := created.Add(w.AfterWait)
		if at.After(now) {
			at = at.UTC()
			s.NextAt = &at
			break
		}
		limits = w.Limits
	}
	// A rule that has ended limits nothing any more.
	if limits.Ended {
		s.Ended = true
		return s
	}
	if r.Kind == profile.Latency {
		ms := limits.Latency.Milliseconds()
		s.LatencyMS = &ms
	}
	if slices.Contains([]profile.RuleKind{profile.Near, profile.Balance, profile.Sizes, profile.PartySizes}, r.Kind) {
		s.Within = &limits.Within
	}
	return s
}

// describeTicket returns what the caller sees of a ticket: a backend sees the teams of all players.
func (f ticketFace) describeTicket(ctx context.Context, t db.PlayerTicket) ticket {
	ctx, cancel := context.WithTimeout(ctx, f.tickets.CallTimeout)
	defer cancel()
	d := f.documentOf(ctx, t, f.callerOf(ctx))
	if f.isBackend && t.MatchSeat != nil {
		d.Teams = t.MatchSeat.Teams
	}
	return d
}
