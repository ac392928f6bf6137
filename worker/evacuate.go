package worker

import (
	"context"
	"errors"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/ticketbody"
)

// evacuateInterval is how soon an evacuation begins.
const evacuateInterval = 500 * time.Millisecond

// evacuator carries on evacuations that operators began. Workers share the work: each locks what it works on, and
// leaves what another one has locked.
type evacuator struct{ store *db.Store }

func (e evacuator) runOnce(ctx context.Context) (Done, error) {
	done := Done{}
	all, err := e.store.Evacuations(ctx)
	if err != nil {
		return done, err
	}
	var failed []error
	for _, id := range all {
		// One step is a few transactions. Another worker may make the next step of the same evacuation at the same
		// time.
		for {
			step, err := e.store.StepEvacuation(ctx, id, restoreTicket)
			done.add("sessions", step.ClosedSessions)
			done.add("released", step.ReleasedPlayers)
			done.add("instances", step.EndedServers)
			done.add("queued", step.QueuedPlayers)
			done.add("seated", step.SeatedPlayers)
			done.add("nothing", step.StrandedPlayers)
			// Idle: there is nothing to do, or other workers hold all of it. The next run looks again.
			if err != nil || step.IsIdle() {
				failed = append(failed, err)
				break
			}
		}
	}
	return done, errors.Join(failed...)
}

// restoreTicket implements [db.RestoreTicket].
func restoreTicket(past db.PastTicket) (db.QueueBody, error) {
	draft, err := ticketbody.DraftOfFacts(past.Profiles, past.Players, past.Attributes, past.Latencies)
	if err != nil {
		return db.QueueBody{}, err
	}
	body, err := ticketbody.Prepare(draft)
	return db.QueueBody{SearchFields: ticketbody.Fields(draft), EncodeBody: body.Body, Bytes: len(body)}, err
}
