package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/lattice-director/director/internal/base/timetext"
)

// keptDrain is a drain that an operator keeps.
type keptDrain struct {
	Target, Value, Actor string
	Age                  float64 // seconds
	Instances            int     // that have not ended and obey it
}

const selectKeptDrains = `SELECT target, value, actor, extract(epoch FROM age)::float8 AS age, instances::int AS instances FROM ops.drains ORDER BY since, target, value`

func (d Doctor) checkDrains(ctx context.Context) (Finding, error) {
	drains, err := rows[keptDrain](ctx, d, selectKeptDrains)
	if err != nil {
		return Finding{}, err
	}
	return judgeDrains(drains), nil
}

// oldDrain is the age from which on a drain was probably forgotten: a host is repaired within a week.
const oldDrain = 7 * 24 * time.Hour

// judgeDrains takes the drains, the oldest first.
func judgeDrains(drains []keptDrain) Finding {
	if len(drains) == 0 {
		return good("no operator keeps game servers drained")
	}
	oldest := drains[0]
	age := time.Duration(oldest.Age * float64(time.Second)).Round(time.Minute)
	says := fmt.Sprintf("%d drains are kept; the oldest is of %s %s, by %s, %s ago, and %d game servers obey it",
		len(drains), oldest.Target, oldest.Value, oldest.Actor, timetext.Brief(age), oldest.Instances)
	if age >= oldDrain {
		return warning("director fleet drains; end those that nobody needs: director fleet undrain, director agents undrain", "%s", says)
	}
	return good("%s", says)
}
