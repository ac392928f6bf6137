package provision

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// CallClass is a class of a provider's calls that share a limit.
type CallClass string

// The classes.
const (
	CallDeploy CallClass = "deploy"
	CallGet    CallClass = "get"
	CallList   CallClass = "list" // of List and Find
	CallStop   CallClass = "stop"
)

// CallBudget is how many calls of a class a worker wants to make, and how many per second all workers may make
// together.
type CallBudget struct {
	WantedCalls int
	Rate        float64
}

// GrantedCalls are calls of a class that a worker may make.
type GrantedCalls struct {
	GrantedCount int
	FreeAt       time.Time // when further calls may be made: the end of a pause that the provider has asked for, or now
}

// TakeBudgets takes calls out of the budgets that all workers share: as many as wanted, or fewer. Errors: Unavailable.
func (s *Store) TakeBudgets(ctx context.Context, provider string,
	wants map[CallClass]CallBudget) (map[CallClass]GrantedCalls, error) {
	p := query.TakeBudgetsParams{Now: s.virtualNow(), Provider: provider}
	for _, class := range slices.Sorted(maps.Keys(wants)) {
		p.Classes = append(p.Classes, string(class))
		p.Wants = append(p.Wants, int32(wants[class].WantedCalls))
		p.Rates = append(p.Rates, wants[class].Rate)
	}
	granted := map[CallClass]GrantedCalls{}
	err := s.frame.InTx(ctx, func(q *query.Queries) error {
		rows, err := takeBudgets(ctx, q, p)
		for _, r := range rows {
			granted[CallClass(r.Class)] = GrantedCalls{GrantedCount: int(r.Granted), FreeAt: r.FreeAt}
		}
		return err
	})
	return granted, frame.Classify(err)
}

// takeBudgets takes calls of each class, and inserts the rows of classes that have made no call yet.
func takeBudgets(ctx context.Context, q *query.Queries, p query.TakeBudgetsParams) ([]query.TakeBudgetsRow, error) {
	rows, err := q.TakeBudgets(ctx, p)
	if err != nil || len(rows) == len(p.Classes) {
		return rows, err
	}
	if err := q.PutBudgets(ctx, query.PutBudgetsParams{Provider: p.Provider, Now: p.Now, Classes: p.Classes,
		Rates: p.Rates}); err != nil {
		return nil, err
	}
	added, err := q.TakeBudgets(ctx, withoutRows(p, rows))
	return append(rows, added...), err
}

// withoutRows returns the part of p about the classes that have none of the rows.
func withoutRows(p query.TakeBudgetsParams, rows []query.TakeBudgetsRow) query.TakeBudgetsParams {
	missing := query.TakeBudgetsParams{Now: p.Now, Provider: p.Provider}
	for i, class := range p.Classes {
		if !slices.ContainsFunc(rows, func(r query.TakeBudgetsRow) bool { return r.Class == class }) {
			missing.Classes = append(missing.Classes, class)
			missing.Wants = append(missing.Wants, p.Wants[i])
			missing.Rates = append(missing.Rates, p.Rates[i])
		}
	}
	return missing
}

// BlockBudget blocks a class of calls of a provider for all workers, for a pause that the provider has asked for.
// Errors: Unavailable.
func (s *Store) BlockBudget(ctx context.Context, provider string, class CallClass, pause time.Duration) error {
	return frame.Classify(s.frame.Queries.BlockBudget(ctx,
		query.BlockBudgetParams{Provider: provider, Class: string(class), Now: s.virtualNow(), Pause: pause}))
}
