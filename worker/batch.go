package worker

import (
	"context"
	"errors"
	"fmt"

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

// eachRegion calls fn for every region that list returns, as runSteps calls steps.
func eachRegion[T any](ctx context.Context, list func(context.Context) ([]T, error), fn func(region T) error) error {
	regions, err := list(ctx)
	if err != nil {
		return err
	}
	steps := make([]func() error, len(regions))
	for i, region := range regions {
		steps[i] = func() error {
			if err := fn(region); err != nil {
				return fmt.Errorf("region %v: %w", region, err)
			}
			return nil
		}
	}
	return runSteps(ctx, steps...)
}

// runSteps calls each step. It continues after an error, unless the database is unavailable or ctx has ended: the next
// step would fail in the same way.
func runSteps(ctx context.Context, steps ...func() error) error {
	var failed []error
	for _, step := range steps {
		err := step()
		failed = append(failed, err)
		if err != nil && (ctx.Err() != nil || fault.Is(err, fault.Unavailable)) {
			break
		}
	}
	return errors.Join(failed...)
}
