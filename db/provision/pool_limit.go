package provision

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/query"
)

// providerManual is the provider of servers that people start. The limits over all pools do not apply to these.
const providerManual = "manual"

// lockAllowedStarts locks the limits over all pools, if there are any, until the transaction ends, and returns how many
// servers they let start now.
func lockAllowedStarts(ctx context.Context, q *query.Queries) (int, error) {
	limits, err := q.LockPoolLimits(ctx)
	if errors.Is(err, pgx.ErrNoRows) {
		return math.MaxInt, nil
	}
	if err != nil {
		return 0, err
	}
	// Counted under the lock, since two concurrent plans would otherwise both use the same place.
	now, err := q.PoolTotals(ctx)
	if err != nil {
		return 0, err
	}
	allowed := math.MaxInt
	// -1 is no limit.
	if limits.MaxServers >= 0 {
		allowed = min(allowed, int(limits.MaxServers)-int(now.Servers))
	}
	if limits.MaxStarts >= 0 {
		allowed = min(allowed, int(limits.MaxStarts)-int(now.Starts))
	}
	return max(0, allowed), nil
}

// cutStarts makes a plan start at most the allowed number of servers.
func (p *poolPlan) cutStarts(allowed int) {
	if p.Start <= allowed {
		return
	}
	p.Text += fmt.Sprintf("; the limits over all pools let %d of these start", allowed)
	// The plan had counted all that it starts as coming.
	p.Coming -= p.Start - allowed
	p.Start, p.nearPlayers = allowed, p.nearPlayers[:allowed]
}
