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
		if endsRun(ctx, err) {
			break
		}
	}
	return errors.Join(failed...)
}

// runSteps calls each step. It continues after an error, unless the database is unavailable, as eachRegion does.
func runSteps(ctx context.Context, steps ...func() error) error {
	var failed []error
	for _, step := range steps {
		err := step()
		failed = append(failed, err)
		if err != nil && endsRun(ctx, err) {
			break
		}
	}
	return errors.Join(failed...)
}

// endsRun reports whether everything else would fail as well after this error.
func endsRun(ctx context.Context, err error) bool {
	return ctx.Err() != nil || fault.Is(err, fault.Unavailable)
}
