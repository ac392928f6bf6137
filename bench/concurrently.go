package bench

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// Concurrently calls do with 0 to n-1, so many at a time; 0 is all. The first error ends the ctx of the others, begins no
// more, and is returned.
func Concurrently(ctx context.Context, n, atATime int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	if atATime > 0 {
		group.SetLimit(atATime)
	}
	for i := range n {
		group.Go(func() error {
			// The group also starts what is left after an error.
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return do(ctx, i)
		})
	}
	return group.Wait()
}
