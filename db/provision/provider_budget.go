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
	CallList   CallClass = "list" // Find, too
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
	FreeAt       time.Time // the database's time, or the end of a pause for which the provider has asked
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
		rows, err := q.TakeBudgets(ctx, p)
		if err == nil && len(rows) < len(p.Classes) { // the first call of a class
			if err := q.PutBudgets(ctx, query.PutBudgetsParams{Provider: provider, Now: p.Now, Classes: p.Classes,
				Rates: p.Rates}); err != nil {
				return err
			}
			// The classes with a row have got their calls already.
			p.Classes, p.Wants, p.Rates = missingClasses(p, rows)
			var more []query.TakeBudgetsRow
			more, err = q.TakeBudgets(ctx, p)
			rows = append(rows, more...)
		}
		for _, r := range rows {
			granted[CallClass(r.Class)] = GrantedCalls{GrantedCount: int(r.Granted), FreeAt: r.FreeAt}
		}
		return err
	})
	return granted, frame.Classify(err)
}

// missingClasses returns the part of p that has no row.
func missingClasses(p query.TakeBudgetsParams,
	rows []query.TakeBudgetsRow) (classes []string, wants []int32, rates []float64) {
	// A class gets its row with its first call.
	for i, class := range p.Classes {
		if !slices.ContainsFunc(rows, func(r query.TakeBudgetsRow) bool { return r.Class == class }) {
			classes = append(classes, class)
			wants = append(wants, p.Wants[i])
			rates = append(rates, p.Rates[i])
		}
	}
	return classes, wants, rates
}

// BlockBudget blocks a class of calls of a provider for all workers, for a pause that the provider has asked for.
// Errors: Unavailable.
func (s *Store) BlockBudget(ctx context.Context, provider string, class CallClass, pause time.Duration) error {
	return frame.Classify(s.frame.Queries.BlockBudget(ctx,
		query.BlockBudgetParams{Provider: provider, Class: string(class), Now: s.virtualNow(), Pause: pause}))
}
