package db

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/query"
)

// QueueView is the queue of a universe.
type QueueView struct {
	Tickets   int64 // that wait, matched ones included
	Matched   int64 // of them in a match that is not assigned yet
	OldestAge time.Duration
	Profiles  []ConsoleProfile // live ones first, in the order of their names, at most 200
	More      bool             // there are more profiles
}

// ConsoleProfile is a profile, and the tickets that wait for it.
type ConsoleProfile struct {
	Profile          string
	Live             int32      // the version that decides
	Shadow           *int32     // nil: none
	RetiredAt        *time.Time // nil: it is not
	State            string     // decided, no worker, function, paused or retired
	Worker           string     // the worker that decides for it; "": none
	PausedAt         time.Time  // the epoch: it is not paused
	PauseReason      string
	Tickets          int64
	Players          int64
	WaitingForServer int64 // tickets in a match that waits for a server
	Oldest           time.Duration
	P50              time.Duration
	P95              time.Duration
	Step             int32 // how often the first rule that widens has widened for the oldest ticket
}

// maxConsoleProfiles bounds the profiles of a page.
const maxConsoleProfiles = 200

// ConsoleQueue returns the queue of a universe. Errors: TooMany, Unavailable.
func (s *Store) ConsoleQueue(ctx context.Context, universe string) (v QueueView, err error) {
	err = s.readConsole(ctx, func(ctx context.Context, q *query.Queries) error {
		totals, err := q.ConsoleQueue(ctx)
		if err != nil {
			return err
		}
		for _, r := range totals {
			if r.Region == universe {
				v.Tickets, v.Matched, v.OldestAge = r.Tickets, r.Matched, time.Duration(r.OldestSeconds*float64(time.Second))
			}
		}
		rows, err := q.ConsoleProfiles(ctx, query.ConsoleProfilesParams{Universe: universe, Most: maxConsoleProfiles + 1})
		for _, r := range rows {
			v.Profiles = append(v.Profiles, ConsoleProfile(r))
		}
		return err
	})
	v.Profiles, v.More = page(v.Profiles, maxConsoleProfiles)
	return v, err
}

// QueueWait is how long tickets waited that left the queue in a minute, as ops.queue_waits shows it.
type QueueWait struct {
	Minute  time.Time // its beginning
	Profile string
	Outcome string // assigned, declined, cancelled or expired
	Tickets int64
	P50     time.Duration
	P95     time.Duration
	Longest time.Duration
}

// ConsoleQueueWaits returns the waits of the last hour, oldest first, of one profile or, for "", of all; at most 10,000 rows. Its cost grows
// with the tickets that left in that hour. Errors: TooMany, Unavailable.
func (s *Store) ConsoleQueueWaits(ctx context.Context, universe, profile string) (waits []QueueWait, err error) {
	err = s.readConsole(ctx, func(ctx context.Context, q *query.Queries) error {
		rows, err := q.ConsoleQueueWaits(ctx, query.ConsoleQueueWaitsParams{Universe: universe, Profile: profile})
		for _, r := range rows {
			waits = append(waits, QueueWait(r))
		}
		return err
	})
	return waits, err
}
