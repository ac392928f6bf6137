package db

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// Evacuations returns the evacuations that have not ended, the oldest first, at most 100. Errors: Unavailable.
func (s *Store) Evacuations(ctx context.Context) ([]uuid.UUID, error) {
	ids, err := s.q.EvacuationsUnderWay(ctx)
	return ids, frame.Classify(err)
}

// StepEvacuation does the next part of an evacuation, in bounded transactions: it closes sessions, then empties and
// ends game servers, then queues and seats players, and at last ends the evacuation. restore makes the ticket of a
// party that waits again. Any number of workers may call StepEvacuation at the same time, each as often as there is
// something to do: what one has begun, another continues. Errors: Unavailable, after which the part may be done or not.
func (s *Store) StepEvacuation(ctx context.Context, id uuid.UUID, restore RestoreTicket) (EvacuationStep, error) {
	parts := []func(context.Context, uuid.UUID) (EvacuationStep, error){
		s.closeEvacuated, s.emptyServers,
		func(ctx context.Context, id uuid.UUID) (EvacuationStep, error) {
			return s.requeueEvacuated(ctx, id, restore)
		},
		s.seatEvacuated,
	}
	for _, part := range parts {
		// The first part that finds something to do ends the step. The next step begins with sessions again, since
		// those that were locked by others are found later.
		step, err := part(ctx, id)
		if err != nil {
			return EvacuationStep{}, frame.Classify(err)
		}
		if !step.IsIdle() {
			return step, nil
		}
	}
	return EvacuationStep{}, frame.Classify(s.endEvacuation(ctx, id))
}

// closeEvacuated closes sessions of the game servers, and records who had a seat in them.
func (s *Store) closeEvacuated(ctx context.Context, id uuid.UUID) (step EvacuationStep, err error) {
	err = s.inEvacuation(ctx, id, func(q *query.Queries, e query.HoldEvacuationRow) error {
		// Made for each attempt of the transaction.
		step = EvacuationStep{}
		sessions, err := q.SessionsToEvacuate(ctx,
			query.SessionsToEvacuateParams{Evacuation: id, Batch: evacuatedSessions, Players: evacuatedPlayers})
		if err != nil || len(sessions) == 0 {
			return err
		}
		// The statement returns sessions of one region at a time.
		release := query.ReleaseEvacuatedParams{Evacuation: id, Requeue: e.Requeue, Region: sessions[0].Region}
		for _, r := range sessions {
			release.Ids = append(release.Ids, r.ID)
		}
		released, err := q.ReleaseEvacuated(ctx, release)
		if err != nil {
			return err
		}
		if _, err := q.CloseEvacuated(ctx, query.CloseEvacuatedParams{Region: release.Region, Ids: release.Ids,
			Actor: e.Actor}); err != nil {
			return err
		}
		step.ClosedSessions, step.ReleasedPlayers = len(sessions), int(released)
		return nil
	})
	if err != nil {
		return EvacuationStep{}, err
	}
	if step.ClosedSessions > 0 {
		s.Notify(TopicCapacity, "")
	}
	return step, nil
}

// emptyServers ends those of the game servers without sessions that do not report, and records the players who had lost
// their seats on the game servers before the evacuation.
func (s *Store) emptyServers(ctx context.Context, id uuid.UUID) (step EvacuationStep, err error) {
	err = s.inEvacuation(ctx, id, func(q *query.Queries, e query.HoldEvacuationRow) error {
		// Made for each attempt of the transaction.
		step = EvacuationStep{}
		servers, err := q.ServersToEmpty(ctx, query.ServersToEmptyParams{Evacuation: id, Batch: evacuatedServers})
		if err != nil || len(servers) == 0 {
			return err
		}
		note := query.NoteEmptiedParams{Evacuation: id}
		for _, server := range servers {
			ended, err := endEvacuatedServer(ctx, q, e, server)
			if err != nil {
				return err
			}
			if ended {
				step.EndedServers++
			}
			note.Regions = append(note.Regions, server.Region)
			note.InstanceIds = append(note.InstanceIds, server.InstanceID)
			note.Ended = append(note.Ended, ended)
		}
		step.EmptiedServers = len(servers)
		// Without Requeue, players get nothing new, and nobody needs to know who they were.
		if e.Requeue {
			lost, err := q.ReleaseLost(ctx,
				query.ReleaseLostParams{Evacuation: id, InstanceIds: note.InstanceIds, LostSince: e.LostSince})
			if err != nil {
				return err
			}
			step.ReleasedPlayers = int(lost)
		}
		return q.NoteEmptied(ctx, note)
	})
	return step, err
}

// endEvacuatedServer ends a game server that does not report, or any if the operator has declared all of them dead.
func endEvacuatedServer(ctx context.Context, q *query.Queries, e query.HoldEvacuationRow,
	server query.ServersToEmptyRow) (ended bool, err error) {
	dead, err := q.InstanceToEnd(ctx, query.InstanceToEndParams{Region: server.Region, ID: server.InstanceID,
		Dead: e.Dead})
	// Without a row, the game server still reports, or another transaction has ended it.
	if err != nil || len(dead) == 0 {
		return false, err
	}
	if _, err := q.EndInstance(ctx, query.EndInstanceParams{Region: server.Region, ID: server.InstanceID,
		Reason: "evacuated"}); err != nil {
		return false, err
	}
	return true, nil
}

func (s *Store) endEvacuation(ctx context.Context, id uuid.UUID) error {
	return s.inEvacuation(ctx, id, func(q *query.Queries, _ query.HoldEvacuationRow) error {
		_, err := q.EndEvacuation(ctx, id)
		return err
	})
}

// ForgetEvacuations deletes evacuations that ended longer than keep ago, with at most batch of their players, whose
// rows it returns. Errors: Unavailable.
func (s *Store) ForgetEvacuations(ctx context.Context, keep time.Duration, batch int) (int, error) {
	players, err := s.q.ForgetEvacuatedPlayers(ctx,
		query.ForgetEvacuatedPlayersParams{Keep: keep, Batch: int32(batch)})
	if err != nil {
		return 0, frame.Classify(err)
	}
	_, err = s.q.ForgetEvacuations(ctx, query.ForgetEvacuationsParams{Keep: keep, Batch: int32(batch)})
	return int(players), frame.Classify(err)
}
