package db

import (
	"cmp"
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lattice-director/director/db/internal/notify"
	"github.com/lattice-director/director/db/internal/tx"
)

// The topics of notifications between replicas.
const (
	TopicTickets = "tickets" // tickets were assigned or deleted: see [Store.SettledSince]
	TopicCycle   = "cycle"   // the state of a region's cycle, or its proposals, changed

	TopicQueue        = "queue"    // tickets became candidates: see [Store.CandidatesSince]
	TopicTicketEvents = "events"   // tickets entered other states: see [Store.TicketEventsSince]
	TopicMatches      = "matches"  // in a universe: a ready check was answered or ended; in a game region: players were matched into sessions
	TopicProfiles     = "profiles" // a profile has another version, or is retired
	TopicCapacity     = "capacity" // an instance of a game region may take a session again
)

// Notify wakes the subscribers to a topic in a region, on this replica at once and then on all others. Call it after the
// commit whose rows they should read. It does not block and may be called at any rate.
func (s *Store) Notify(topic, region string) { s.bus.Notify(topic, region) }

// Subscribe returns a wake-up channel for the notifications of a topic in a region, from any replica. The channel holds one
// signal: a subscriber that wakes up reads everything that is new. It also wakes when notifications may have been lost,
// which is each time the listening connection is made. Where that connection cannot be made, only this replica's own
// notifications wake it, so subscribers must poll as well. Call stop when done.
//
// All subscribers share one connection beside the pool. It is made for the first of them and kept until Close.
func (s *Store) Subscribe(topic, region string) (wake <-chan struct{}, stop func()) {
	return s.bus.Subscribe(topic, region)
}

func (s *Store) newBus() (*notify.Bus, error) {
	pc, err := pgxpool.ParseConfig(cmp.Or(s.cfg.DirectURL, s.cfg.URL))
	if err != nil {
		return nil, fmt.Errorf("DATABASE_URL_DIRECT: %w", err)
	}
	nameConn(pc.ConnConfig)
	return notify.New(notify.Config{
		Send: s.q.SendNotification, Listen: pc.ConnConfig, Unreachable: s.cfg.Pooler != "" && s.cfg.DirectURL == "", Log: s.cfg.Log,
		Prepare: func(ctx context.Context, conn *pgx.Conn) error { return tx.InitSession(ctx, conn, listenerTimeouts()) },
	}), nil
}
