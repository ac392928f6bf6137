package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/lattice-director/director/db/opsview"
)

func (d Doctor) checkErasures(ctx context.Context) (Finding, error) {
	all, err := opsview.Erasures.Read(ctx, d.Store.Pool(), opsview.ErasureFilter{Unfinished: true}, opsview.Page{})
	if err != nil {
		return Finding{}, err
	}
	now, err := d.Store.DatabaseNow(ctx)
	return judgeErasures(all, now), err
}

// longErasure is how long a player may take to be erased: longer than one with hundreds of thousands of past seats
// does.
const longErasure = 10 * time.Minute

// judgeErasures takes the erasures that are not finished, the oldest first.
func judgeErasures(all []opsview.Erasure, now time.Time) Finding {
	if len(all) == 0 {
		return goodFinding("no player is being erased")
	}
	oldest := all[0]
	age := now.Sub(oldest.RequestedAt).Round(time.Minute)
	stage := "its first pass is not over"
	if oldest.ErasedAt != nil {
		stage = "its last pass is not over"
	}
	says := fmt.Sprintf("%d players are being erased; the oldest erasure, %s by %s, was requested %s ago, has "+
		"changed %d rows, and %s",
		len(all), oldest.Erasure, oldest.Actor, age, oldest.Rows, stage)
	if age >= longErasure {
		return warningFinding("see the logs of the workers (loop=erase), and whether an old transaction is open", "%s",
			says)
	}
	return goodFinding("%s", says)
}
