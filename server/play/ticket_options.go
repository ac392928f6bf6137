package play

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/watch"
	"github.com/lattice-director/director/match/profile"
)

// Tickets configures the routes of tickets. Store and Hub are required.
type Tickets struct {
	Store    TicketStore
	Hub      *watch.Hub
	Profiles Profiles // nil: every name is a profile, and nothing is checked against it
	Parties  Parties  // whom players may queue with
	Region   string   // of the queue
	// CheckHere refuses a region that another cell serves; nil: none is.
	CheckHere func(region string) error
	// ForOthers says that directors of Open Match may match tickets that name no profile, by other fields than the
	// profiles' pools.
	ForOthers bool
	// Lease is how long a ticket stays without anybody who waits for it; 0: until its time in the queue is over.
	Lease time.Duration
	// CallTimeout bounds each reading of a call that waits; 0 means 900 ms.
	CallTimeout time.Duration
	// Stopping ends calls that wait when it is closed; nil: never.
	Stopping <-chan struct{}

	beatEvery time.Duration // between two comments of a stream; 0 means 15 s
}

// TicketStore is the part of db.Store that the routes of tickets call.
type TicketStore interface {
	OutlookStore
	PartyStore

	CreatePlayerTicket(ctx context.Context, region string, r db.PlayerTicketRequest) (db.PlayerTicketAnswer, error)
	// LobbyPlayers returns the players of a room's members, sorted, to one of them. Errors: NotFound; Unavailable.
	LobbyPlayers(ctx context.Context, project, room, caller string) ([]string, error)
	CreateLobbyTicket(ctx context.Context, universe string, r db.LobbyTicketRequest) (db.PlayerTicketAnswer, error)
	SeePlayerTicket(ctx context.Context, region, id, sub string) (db.PlayerTicket, error)
	// AnyTicket returns a ticket to somebody who is no player of it. Errors: NotFound; Unavailable.
	AnyTicket(ctx context.Context, region, id string) (db.PlayerTicket, error)
	// CancelPlayerTicket cancels a ticket. It cancels nothing while a match asks the ticket's players, and returns that
	// match; uuid.Nil: none asks.
	CancelPlayerTicket(ctx context.Context, region, id, sub string) (askingMatch uuid.UUID, err error)
	// AnswerReadyCheck records whether a player accepts the match that its ticket is in. Errors: NotFound where the
	// player is no member; Conflict, "too_late", where no answer of the player is awaited, or one about another match;
	// Unavailable.
	AnswerReadyCheck(ctx context.Context, region string, answer db.ReadyCheckAnswer) error
	TicketEvents(ctx context.Context, region, id string, after int) ([]db.TicketEvent, error)
}

// OutlookStore says what waiting tickets may expect.
type OutlookStore interface {
	QueuedSince(ctx context.Context, region, tag string) (created []int64, err error)
	WaitingTimes(ctx context.Context, region string) (map[string][]db.WaitingTime, error)
	Now() time.Time
}

// Profiles finds the live versions of profiles.
type Profiles interface {
	// LiveProfile returns the live version of a profile. It is called for each ticket that is created or shown, so it
	// must not wait for the database as a rule. Errors: NotFound, "profile_unknown", with the most similar name;
	// Unavailable.
	LiveProfile(ctx context.Context, name string) (*profile.Profile, error)
	// AllLive returns all live versions, in any order and in a slice that the caller may change. It waits for the
	// database as rarely as LiveProfile. Errors: Unavailable.
	AllLive(ctx context.Context) ([]*profile.Profile, error)
	// Refresh waits for a reading that began after a moment, so that nobody is refused because of a version that was
	// replaced before. Errors: Unavailable.
	Refresh(ctx context.Context, after time.Time) error
}
