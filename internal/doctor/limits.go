package doctor

import (
	"context"
	"fmt"

	"github.com/lattice-director/director/db/opsview"
)

func (d Doctor) checkLimits(ctx context.Context) (Finding, error) {
	l, err := opsview.PoolLimits.One(ctx, d.Store.Pool(), opsview.Any{})
	if err != nil {
		return Finding{}, err
	}
	return judgeLimits(l), nil
}

// judgeLimits warns from nine tenths of a limit on, so that somebody decides before players have to wait.
func judgeLimits(l opsview.PoolLimit) Finding {
	says := fmt.Sprintf("all pools have %d servers%s, and started %d within an hour%s", l.Servers,
		limitPhrase(l.MaxServers), l.Starts, limitPhrase(l.MaxStarts))
	const do = "find out why there are so many: director deployments list, director events --kind 'deployment.*'; " +
		"then director pools limit"
	// The limit that is used up first stops all pools.
	share := max(shareOf(l.Servers, l.MaxServers), shareOf(l.Starts, l.MaxStarts))
	switch {
	case share >= 1:
		return failureFinding(do, "%s: no more start", says)
	case share >= 0.9:
		return warningFinding(do, "%s", says)
	}
	return goodFinding("%s", says)
}

// limitPhrase appends a limit to a number, if there is one.
func limitPhrase(limit *int32) string {
	if limit == nil {
		return ""
	}
	return fmt.Sprintf(" of at most %d", *limit)
}

// shareOf returns which share of a limit is used, 0 without a limit.
func shareOf(n int64, limit *int32) float64 {
	switch {
	case limit == nil:
		return 0
	// No server may start: the limit is used up with none.
	case *limit == 0:
		return 1
	}
	return float64(n) / float64(*limit)
}
