package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/base/timetext"
)

func (d Doctor) checkDrains(ctx context.Context) (Finding, error) {
	drains, err := opsview.Drains.Read(ctx, d.Store.Pool(), opsview.Any{}, opsview.Page{})
	if err != nil {
		return Finding{}, err
	}
	return judgeDrains(drains), nil
}

// oldDrain is the age from which on a drain was probably forgotten: a host is repaired within a week.
const oldDrain = 7 * 24 * time.Hour

// judgeDrains takes the drains, the oldest first.
func judgeDrains(drains []opsview.Drain) Finding {
	if len(drains) == 0 {
		return goodFinding("no operator keeps game servers drained")
	}
	oldest := drains[0]
	age := oldest.Age.Round(time.Minute)
	says := fmt.Sprintf("%d drains are kept; the oldest is of %s %s, by %s, %s ago, and %d game servers obey it",
		len(drains), oldest.Target, oldest.Value, oldest.Actor, timetext.Brief(age), oldest.Instances)
	// The drain outlives restarts of the game servers: nothing ends it but an operator.
	if age >= oldDrain {
		return warningFinding("director fleet drains; end those that nobody needs: director fleet undrain, "+
			"director agents undrain", "%s", says)
	}
	return goodFinding("%s", says)
}
