package main

import (
	"context"
	"fmt"
	"time"
)

// poolServed proves that servers started for players who came to a region without any.
func (j *judge) poolServed(ctx context.Context) proof {
	// $1 guests played, $2 came; $4 servers were alive at most, $5 were needed.
	return j.askDatabase(ctx, "Servers started when players came", `
		SELECT count(*) FILTER (WHERE ready_at IS NOT NULL) > 0 AND $1::int = $2::int AND $4::int <= $5::int,
			format('%s of %s guests played within %s s in a region that had none; %s started, '
				|| 'the first was ready after %s s; at most %s were alive, %s were needed',
				$1::int, $2::int, $3::text, count(*),
				coalesce(round(extract(epoch FROM min(ready_at - created_at)), 1)::text, '?'), $4::int, $5::int)
		FROM deployment_history WHERE region = $6`,
		j.poolFacts.welcomedCount, guestCount, fmt.Sprintf("%.1f", j.poolFacts.allPlayedAfter.Seconds()),
		j.poolFacts.mostAlive, neededServers, poolRegion)
}

// poolKept proves that the death of a worker while servers started lost none and doubled none.
func (j *judge) poolKept(ctx context.Context) proof {
	// $1 servers were starting when the worker died; $2 is a server without a row, '' if none was seen in $3 looks.
	return j.askDatabase(ctx, "A worker died while servers started, and none was lost or doubled", `
		SELECT $1::int > 0 AND $2 = '' AND $3::int > 0 AND count(*) > 0 AND bool_and(ready_at IS NOT NULL),
			format('%s started when it died; %s of %s became ready; in %s looks every process had its row',
				$1::int, count(*) FILTER (WHERE ready_at IS NOT NULL), count(*), $3::int)
			|| CASE WHEN $2 <> '' THEN '; but not ' || $2 ELSE '' END
		FROM deployment_history WHERE region = $4`,
		j.poolFacts.startingCount, j.poolFacts.strangerTag, j.poolFacts.lookCount, poolRegion)
}

// poolShrank proves that servers end when their players have left.
func (j *judge) poolShrank() proof {
	p := proof{claim: "The pool shrank to nothing", holds: j.poolFacts.shrunkAfter > 0}
	p.evidenceText = fmt.Sprintf("%s after the last guest had left", j.poolFacts.shrunkAfter.Round(time.Second))
	if !p.holds {
		p.evidenceText = fmt.Sprintf("%d servers were alive at the end", j.poolFacts.aliveAtEnd)
	}
	return p
}
