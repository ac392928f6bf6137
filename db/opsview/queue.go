package opsview

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Queue is the queue of a universe.
type Queue struct {
	Region  string `db:"region" json:"region"`   // the universe
	Tickets int64  `db:"tickets" json:"tickets"` // that wait, with those in a match that is not assigned yet
	Matched int64  `db:"matched" json:"matched"` // those in a match that is not assigned yet
	// OldestSeconds is the age of the oldest ticket.
	OldestSeconds float64 `db:"oldest_seconds" sql:"coalesce(oldest_seconds, 0)" json:"oldest_seconds"`
}

// Queues are sorted by universe.
var Queues = View[Queue, QueueFilter]{name: "queue", order: Order{"region"}}

// QueueFilter selects a universe; "" selects all.
type QueueFilter struct{ Universe string }

func (f QueueFilter) selectRows(w *where) { w.addEqual("region", f.Universe) }

// Profile is a matchmaking profile.
type Profile struct {
	Region      string     `db:"region" json:"region"` // the universe
	Profile     string     `db:"profile" json:"profile"`
	Live        int32      `db:"live" json:"live"`             // the version that decides
	Shadow      *int32     `db:"shadow" json:"shadow"`         // nil: none
	RetiredAt   *time.Time `db:"retired_at" json:"retired_at"` // nil: it is not
	State       string     `db:"state" json:"state"`           // decided, no worker, function, paused or retired
	Worker      *uuid.UUID `db:"worker" json:"worker"`         // that decides for it; nil: none
	Epoch       *int64     `db:"epoch" json:"epoch"`
	OwnedAt     *time.Time `db:"owned_at" json:"owned_at"`
	LeaseUntil  *time.Time `db:"lease_until" json:"lease_until"`
	PausedAt    *time.Time `db:"paused_at" json:"paused_at"` // nil: it is not paused
	PauseReason string     `db:"pause_reason" sql:"coalesce(pause_reason, '')" json:"pause_reason"`
}

// Profiles are read live ones first, in the order of their names.
var Profiles = View[Profile, ProfileFilter]{name: "profiles", order: Order{"retired_at IS NOT NULL", "profile"}}

// ProfileFilter selects profiles. Empty fields select all.
type ProfileFilter struct {
	Universe, Profile string
	OnlyLive          bool // only those that are not retired
}

func (f ProfileFilter) selectRows(w *where) {
	w.addEqual("region", f.Universe)
	w.addEqual("profile", f.Profile)
	if f.OnlyLive {
		w.add("retired_at IS NULL")
	}
}

// Waiting are the tickets that wait for a profile.
type Waiting struct {
	Region  string `db:"region" json:"region"`
	Profile string `db:"profile" json:"profile"`
	Tickets int64  `db:"tickets" json:"tickets"`
	Players int64  `db:"players" json:"players"`
	// WaitingForServer is how many of the tickets are in a match that waits for a server.
	WaitingForServer int64         `db:"waiting_for_server" json:"waiting_for_server"`
	Oldest           time.Duration `db:"oldest" sql:"coalesce(oldest, '0')" json:"oldest"`
	P50              time.Duration `db:"p50" sql:"coalesce(p50, '0')" json:"p50"`
	P95              time.Duration `db:"p95" sql:"coalesce(p95, '0')" json:"p95"`
	// Step is how often the first rule that widens has widened for the oldest ticket.
	Step int32 `db:"step" sql:"coalesce(step, 0)" json:"step"`
}

// TicketsWaiting reads all queued tickets of players.
var TicketsWaiting = View[Waiting, WaitingFilter]{name: "tickets_waiting", order: Order{"profile"}}

// WaitingFilter selects profiles of a universe.
type WaitingFilter struct {
	Universe string
	Profiles []string
}

func (f WaitingFilter) selectRows(w *where) {
	w.addEqual("region", f.Universe)
	w.add("profile = ANY (?)", f.Profiles)
}

// WaitingTicket is a ticket in the queue.
type WaitingTicket struct {
	Region   string        `db:"region" json:"region"` // the universe
	Ticket   string        `db:"ticket" json:"ticket"`
	QueuedAt time.Time     `db:"queued_at" json:"queued_at"`
	Waits    time.Duration `db:"waits" json:"waits"`
	Profiles []string      `db:"profiles" json:"profiles"` // that it names; empty: none
	Players  []string      `db:"players" json:"players"`   // empty for a ticket of an Open Match client
	State    string        `db:"state" json:"state"`       // queued, paused, matched, accepting, waiting_for_server
	SeenAt   *time.Time    `db:"seen_at" json:"seen_at"`   // when a member last read it; nil: not known
}

// WaitingTickets are read oldest first. A reading sorts the whole queue, and looks the other columns up for the rows of
// the page only.
var WaitingTickets = View[WaitingTicket, WaitingTicketFilter]{name: "waiting_tickets",
	order: Order{"queued_at", "ticket"}}

// WaitingTicketFilter selects tickets of a universe; an empty Profile or Ticket selects all. Read those of a profile
// with Page.Scan, since the profiles of each ticket are looked up.
type WaitingTicketFilter struct{ Universe, Profile, Ticket string }

func (f WaitingTicketFilter) selectRows(w *where) {
	w.addIndexed("region", f.Universe)
	w.addEqual("ticket", f.Ticket)
	w.addElement("profiles", f.Profile)
}

// ProfileQueue is a profile, and the tickets that wait for it.
type ProfileQueue struct {
	Profile Profile
	Waiting Waiting
}

// QueueState is the queue of a universe with its profiles.
type QueueState struct {
	Queue           Queue
	Profiles        []ProfileQueue // live ones first, in the order of their names, at most 200
	HasMoreProfiles bool           // the universe has further profiles
}

// MaxProfiles bounds the profiles of ReadQueue.
const MaxProfiles = 200

// ReadQueue returns the queue of a universe.
func ReadQueue(ctx context.Context, q Querier, universe string) (s QueueState, err error) {
	queues, err := Queues.Read(ctx, q, QueueFilter{universe}, Page{Limit: 1})
	if err != nil {
		return s, err
	}
	if len(queues) > 0 {
		s.Queue = queues[0]
	}
	profiles, more, err := Profiles.List(ctx, q, ProfileFilter{Universe: universe}, Page{Limit: MaxProfiles})
	if err != nil {
		return s, err
	}
	s.HasMoreProfiles = more
	s.Profiles, err = withWaiting(ctx, q, universe, profiles)
	return s, err
}

// ReadProfile returns the profile that a filter selects, and the tickets that wait for it. Errors: ErrNoRow.
func ReadProfile(ctx context.Context, q Querier, f ProfileFilter) (ProfileQueue, error) {
	p, err := Profiles.One(ctx, q, f)
	if err != nil {
		return ProfileQueue{}, err
	}
	found, err := withWaiting(ctx, q, f.Universe, []Profile{p})
	if err != nil {
		return ProfileQueue{}, err
	}
	return found[0], nil
}

// withWaiting returns the profiles with the tickets that wait for them.
func withWaiting(ctx context.Context, q Querier, universe string, profiles []Profile) (all []ProfileQueue, err error) {
	names := make([]string, len(profiles))
	for i, p := range profiles {
		names[i] = p.Profile
	}
	found, err := TicketsWaiting.Read(ctx, q, WaitingFilter{universe, names}, Page{Limit: MaxProfiles})
	if err != nil {
		return nil, err
	}
	waiting := map[string]Waiting{}
	for _, w := range found {
		waiting[w.Profile] = w
	}
	for _, p := range profiles {
		all = append(all, ProfileQueue{p, waiting[p.Profile]})
	}
	return all, nil
}

// Estimate is how good the estimates of waiting times of a profile were in the last day.
type Estimate struct {
	Region    string  `db:"region" json:"region"` // the universe
	Profile   string  `db:"profile" json:"profile"`
	WaitCount int64   `db:"waits" json:"waits"`
	BeforeP50 float64 `db:"before_p50" json:"before_p50"` // the share of waits, which should be 0.5
	BeforeP90 float64 `db:"before_p90" json:"before_p90"` // the share of waits, which should be 0.9
}

// Estimates have a row for each profile that tickets were matched by.
var Estimates = View[Estimate, MinuteFilter]{name: "estimates", order: Order{"region", "profile"}}

// QueueWait is how long the tickets that left the queue in a minute had waited.
type QueueWait struct {
	Minute  time.Time     `db:"minute" json:"minute"` // its beginning
	Region  string        `db:"region" json:"region"` // the universe
	Profile string        `db:"profile" json:"profile"`
	Outcome string        `db:"outcome" json:"outcome"` // assigned, declined, cancelled or expired
	Tickets int64         `db:"tickets" json:"tickets"`
	P50     time.Duration `db:"p50" sql:"coalesce(p50, '0')" json:"p50"`
	P95     time.Duration `db:"p95" sql:"coalesce(p95, '0')" json:"p95"`
	Longest time.Duration `db:"longest" sql:"coalesce(longest, '0')" json:"longest"`
}

// QueueWaits are those of the last hour, oldest first. Their cost grows with the tickets that left in that hour.
var QueueWaits = View[QueueWait, MinuteFilter]{name: "queue_waits", order: Order{"minute", "profile", "outcome"}}

// MinuteFilter selects the minutes of a profile of a universe; an empty Profile selects those of all.
type MinuteFilter struct{ Universe, Profile string }

func (f MinuteFilter) selectRows(w *where) {
	w.addEqual("region", f.Universe)
	w.addEqual("profile", f.Profile)
}

// MaxMinutes is the most rows of measures of minutes that are read.
const MaxMinutes = 10_000

// ShadowQuality is a measure of the matches that a version of a profile made, or that its shadow would have made.
type ShadowQuality struct {
	Region  string     `db:"region" json:"region"`
	Profile string     `db:"profile" json:"profile"`
	Side    string     `db:"side" json:"side"` // live or shadow
	Version int32      `db:"version" json:"version"`
	Measure string     `db:"measure" json:"measure"`
	Matches int64      `db:"matches" json:"matches"`
	Mean    float64    `db:"mean" json:"mean"`
	P50     float64    `db:"p50" json:"p50"`
	P90     float64    `db:"p90" json:"p90"`
	Since   *time.Time `db:"since" json:"since"`
	Until   *time.Time `db:"until" json:"until"`
}

// ShadowQualities are sorted by measure and side.
var ShadowQualities = View[ShadowQuality, MinuteFilter]{name: "shadow_quality", order: Order{"measure", "side"}}
