package bench

import (
	"context"
	"fmt"
	"time"
)

// usage is what was used until a moment of a run, or between two.
type usage struct {
	lasted  time.Duration
	turns   int64   // that ended, in the warm-up too
	reading Reading // zero without a meter
}

// measureUsage reads the meter of the job, if it has one.
func (r *run) measureUsage(ctx context.Context) (u usage, err error) {
	u.turns = r.record.answered.Load()
	if meter := r.job.Options.Meter; meter != nil {
		if u.reading, err = meter.Read(ctx); err != nil {
			err = fmt.Errorf("the meter of costs cannot be read: %w", err)
		}
	}
	u.lasted = time.Since(r.begin)
	return u, err
}

// measureBackground measures what is used while nothing is called. Without Options.Background it returns at once.
func (r *run) measureBackground(ctx context.Context) (background usage, err error) {
	if r.job.Options.Meter == nil || r.job.Options.Background == 0 {
		return background, nil
	}
	r.job.Enter("measuring without calls")
	before, err := r.measureUsage(ctx)
	if err == nil {
		err = Pause(ctx, r.job.Options.Background)
	}
	if err != nil {
		return background, err
	}
	after, err := r.measureUsage(ctx)
	return after.minus(before), err
}

// minus is what was used since.
func (u usage) minus(before usage) usage {
	return usage{u.lasted - before.lasted, u.turns - before.turns, u.reading.Plus(before.reading, -1)}
}

// costs are those of a turn, without the background that was measured before the load; zero when it was not.
func (u usage) costs(background usage) *Costs {
	if background.lasted == 0 {
		return u.reading.costs(u.turns)
	}
	costs := u.reading.Plus(background.reading, -float64(u.lasted)/float64(background.lasted)).costs(u.turns)
	costs.Background = &Background{background.lasted.Seconds(),
		float64(background.reading.ServerCPU) / float64(background.lasted),
		float64(background.reading.PostgresCPU) / float64(background.lasted)}
	return costs
}
