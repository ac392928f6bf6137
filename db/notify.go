package db

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/notify"
)

// The topics of notifications between replicas.
const (
	TopicTickets = "tickets" // tickets were assigned or deleted: see [Store.SettledSince]
	TopicCycle   = "cycle"   // the state of a region's cycle, or its proposals, changed

	// TopicQueue: tickets became candidates, where a worker decides: see [Store.CandidatesSince]
	TopicQueue        = "queue"
	TopicTicketEvents = "events" // tickets entered other states: see [Store.TicketEventsSince]
	// TopicMatches: in a universe: a ready check ended; in a game region: players were matched into sessions
	TopicMatches  = "matches"
	TopicProfiles = "profiles"           // a profile has another version, or is retired
	TopicCapacity = notify.TopicCapacity // an instance of a game region may take a session again

	// TopicDemand: players wait for a server that a pool may start, or a pool changed; its region is empty
	TopicDemand = notify.TopicDemand

	TopicFleet = "fleet" // agents, rooms or replicas of a region changed: see agent_states.tx

	TopicDeployments = notify.TopicDeployments // deployments of a region became due: see [Store.ClaimDeployments]

	TopicCells = "cells" // another cell serves a region, or this one does; its region is empty. SQL notifies.

	// TopicRealtime: rooms or sessions of the realtime lobby changed, which the keys of the notice name. A notice without
	// keys says that a key of a project was revoked.
	TopicRealtime = "realtime"

	// topicSessions: players were seated on instances of a game region, whose endpoints are the keys of the notice: see
	// [Store.SubscribeSessions]
	topicSessions = "sessions"
)

// TopicReplica is the topic of a replica that holds agents' connections: it has commands to send, its callers' commands
// are settled, or its agents changed.
func TopicReplica(id uuid.UUID) string { return "replica." + id.String() }

// Notify wakes the subscribers to a topic in a region, on this replica at once and then on all others. Call it after
// the commit whose rows they should read. It does not block and may be called at any rate.
func (s *Store) Notify(topic, region string) { s.noticeBus.Notify(topic, region) }

// Subscribe returns a wake-up channel for the notifications of a topic in a region, from any replica. The channel holds
// one signal: a subscriber that wakes up reads everything that is new. It also wakes when notifications may have been
// lost, which is each time the listening connection is made. Where that connection cannot be made, only this replica's
// own notifications wake it, so subscribers must poll as well. Call stop when done.
//
// All subscribers share one connection beside the pool. It is made for the first of them and kept until Close.
func (s *Store) Subscribe(topic, region string) (wake <-chan struct{}, stop func()) {
	return s.noticeBus.Subscribe(topic, region)
}

// sendNotice sends a notice to all replicas and workers. It skips notices about the queue of a region for whose
// profiles no worker decides: nobody follows that queue, and clients of Open Match should not pay for such
// notifications.
func (s *Store) sendNotice(ctx context.Context, payload string) error {
	if subject, ok := strings.CutPrefix(payload, TopicQueue+":"); ok {
		region, _, _ := strings.Cut(subject, ":")
		isFollowed, err := s.decidingRegions.get(region, func() (bool, error) { return s.q.AnyOwner(ctx, region) })
		if err != nil || !isFollowed {
			return err
		}
	}
	return s.q.SendNotification(ctx, payload)
}

// notifyQueued wakes those that match the tickets of a region, after tickets have entered the queue.
func (s *Store) notifyQueued(region string) { s.Notify(TopicQueue, region) }

// notifyLeft wakes those that follow tickets of a region, after tickets have left the queue.
func (s *Store) notifyLeft(region string) {
	s.Notify(TopicTickets, region)
	s.Notify(TopicTicketEvents, region)
}
