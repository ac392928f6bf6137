package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lattice-director/director/internal/base/fault"
)

// drainBacklog repeats a step that handles at most batch rows until a step handles fewer: the backlog is then empty, or
// another worker has locked the rest of it.
func drainBacklog(batch int, step func() (int, error)) error {
	for {
		n, err := step()
		if err != nil || n < batch {
			return err
		}
	}
}

// forgetEvery is the interval at which loops that run each second delete rows of which nobody has asked for minutes.
const forgetEvery = 10 * time.Second

// isForgetDue reports whether rows were last deleted forgetEvery ago, and counts anew if so.
func isForgetDue(forgottenAt *time.Time) bool {
	if time.Since(*forgottenAt) < forgetEvery {
		return false
	}
	*forgottenAt = time.Now()
	return true
}

// eachRegion calls fn for every region that list returns. It continues after an error, unless the database is
// unavailable: the next region would fail in the same way.
func eachRegion[T any](ctx context.Context, list func(context.Context) ([]T, error), fn func(region T) error) error {
	regions, err := list(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, region := range regions {
		err := fn(region)
		if err == nil {
			continue
		}
		failed = append(failed, fmt.Errorf("region %v: %w", region, err))
		if ctx.Err() != nil || fault.Is(err, fault.Unavailable) {
			break
		}
	}
	return errors.Join(failed...)
}
