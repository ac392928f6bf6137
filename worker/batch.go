package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/lattice-director/director/db"
)

// drain repeats a step that does at most batch at a time until one comes short: then the backlog is gone, or held by
// somebody who is at it.
func drain(batch int, step func() (int, error)) error {
	for {
		n, err := step()
		if err != nil || n < batch {
			return err
		}
	}
}

// eachRegion does fn for every region that list gives. One that fails keeps no other from its turn, unless the database is away, which
// the next region would only find out again.
func eachRegion(ctx context.Context, list func(context.Context) ([]string, error), fn func(region string) error) error {
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
		failed = append(failed, fmt.Errorf("region %s: %w", region, err))
		if ctx.Err() != nil || db.IsKind(err, db.Unavailable) {
			break
		}
	}
	return errors.Join(failed...)
}
