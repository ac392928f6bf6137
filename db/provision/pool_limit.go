package provision

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/query"
)

// providerManual is the provider of servers that people start. The limits do not concern them.
const providerManual = "manual"

// countAllowedStarts returns how many servers the limits over all pools let start now. It locks the limits, if there
// are any, until the transaction ends.
func countAllowedStarts(ctx context.Context, q *query.Queries) (int, error) {
	limits, err := q.LockPoolLimits(ctx)
	if errors.Is(err, pgx.ErrNoRows) {
		return math.MaxInt, nil
	}
	if err != nil {
		return 0, err
	}
	// Counted behind the lock: two plans that run at a time would both see the same place as free.
	now, err := q.PoolTotals(ctx)
	if err != nil {
		return 0, err
	}
	allowed := math.MaxInt
	if limits.MaxServers >= 0 {
		allowed = min(allowed, int(limits.MaxServers)-int(now.Servers))
	}
	if limits.MaxStarts >= 0 {
		allowed = min(allowed, int(limits.MaxStarts)-int(now.Starts))
	}
	return max(0, allowed), nil
}

// cutStarts makes a plan start at most so many servers.
func (p *poolPlan) cutStarts(allowed int) {
	if p.Start <= allowed {
		return
	}
	p.Text += fmt.Sprintf("; the limits over all pools let %d of these start", allowed)
	// The plan had counted them as coming.
	p.Coming -= p.Start - allowed
	p.Start, p.nearPlayers = allowed, p.nearPlayers[:allowed]
}
