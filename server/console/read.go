package console

import (
	"context"
	"errors"
	"fmt"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/base/fault"
)

// listView reads a page of a view, and says whether more rows follow.
func listView[T any, F opsview.Filter](ctx context.Context, s Store, v opsview.View[T, F], f F,
	p opsview.Page) (rows []T, more bool, err error) {
	err = s.ReadOps(ctx, func(ctx context.Context, q opsview.Querier) error {
		rows, more, err = v.List(ctx, q, f, p)
		return err
	})
	return rows, more, err
}

// readOne runs a function that reads a thing of one or several views. If there is no such thing, the error is of the
// kind NotFound, with the code, and a detail made of the format and its arguments.
func readOne[T any](ctx context.Context, s Store, read func(context.Context, opsview.Querier) (T, error),
	code, format string, args ...any) (found T, err error) {
	err = s.ReadOps(ctx, func(ctx context.Context, q opsview.Querier) error {
		found, err = read(ctx, q)
		return err
	})
	// Every kind of thing has its own code and words: the page of the error says what may have become of it.
	if errors.Is(err, opsview.ErrNoRow) {
		err = &fault.Error{Kind: fault.NotFound, Code: code, Detail: fmt.Sprintf(format, args...)}
	}
	return found, err
}

// readViews runs a function that reads one or several views, of something that always exists.
func readViews[T any](ctx context.Context, s Store, read func(context.Context, opsview.Querier) (T, error)) (T, error) {
	return readOne(ctx, s, read, "not_found", "there is no row")
}

// readRow reads the row that a filter selects. Errors: as of readOne.
func readRow[T any, F opsview.Filter](ctx context.Context, s Store, v opsview.View[T, F], f F, code, format string,
	args ...any) (T, error) {
	return readOne(ctx, s, func(ctx context.Context, q opsview.Querier) (T, error) { return v.One(ctx, q, f) }, code,
		format, args...)
}

// latestEvents is how many events a page shows of its subject.
const latestEvents = 10

// eventsOf returns the latest events of an instance, an agent or a deployment.
func eventsOf(ctx context.Context, s Store, id string) ([]opsview.Event, error) {
	p, err := readViews(ctx, s, func(ctx context.Context, q opsview.Querier) (opsview.EventPage, error) {
		return opsview.ReadEvents(ctx, q, opsview.LatestEvent(), opsview.EventFilter{Instance: id}, latestEvents)
	})
	return p.Events, err
}

// regionNames returns the regions, sorted, at most 1,000, for filters.
func regionNames(ctx context.Context, s Store) ([]string, error) {
	regions, _, err := listView(ctx, s, opsview.Regions, opsview.Any{}, opsview.Page{Limit: 1000})
	names := make([]string, len(regions))
	for i, r := range regions {
		names[i] = r.Region
	}
	return names, err
}
