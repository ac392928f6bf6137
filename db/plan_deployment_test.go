package db

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
)

// The loop's statements, on 10,000 ready deployments of which few are due.
func TestPlansOfDeploymentsReadWhatTheyTake(t *testing.T) {
	t.Parallel()
	pool := storeWith(t, deployedState).Pool()
	id := uuid.MustParse("00000000-0000-0000-0000-000000000007")
	owner := "ld-test"

	readWhatTheyTake(t, pool, map[string]func(context.Context, *query.Queries) error{
		"ClaimDeployments": func(ctx context.Context, q *query.Queries) error {
			return second(q.ClaimDeployments(ctx, query.ClaimDeploymentsParams{Region: "eu", Provider: "process", Owner: &owner, Batch: 32, Hold: time.Minute}))
		},
		"PutBackDeployments": func(ctx context.Context, q *query.Queries) error {
			return q.PutBackDeployments(ctx, query.PutBackDeploymentsParams{Region: "eu", Ids: []uuid.UUID{id}, Wakes: []time.Time{{}}, Nexts: []time.Time{{}}})
		},
		"PutIntent": func(ctx context.Context, q *query.Queries) error {
			return second(q.PutIntent(ctx, query.PutIntentParams{Region: "eu", ID: id}))
		},
		"DecideDeployment": func(ctx context.Context, q *query.Queries) error {
			return second(q.DecideDeployment(ctx, query.DecideDeploymentParams{Region: "eu", ID: id, Phase: "ready"}))
		},
		"NoteObservation": func(ctx context.Context, q *query.Queries) error {
			return q.NoteObservation(ctx, query.NoteObservationParams{Region: "eu", ID: id, Ref: "7"})
		},
		"MoveToHistory": func(ctx context.Context, q *query.Queries) error {
			return second(q.MoveToHistory(ctx, query.MoveToHistoryParams{Region: "eu", ID: id}))
		},
		"RefsOfTags": func(ctx context.Context, q *query.Queries) error {
			return second(q.RefsOfTags(ctx, query.RefsOfTagsParams{Region: "eu", Tags: []string{"1", "7"}}))
		},
	})
}
