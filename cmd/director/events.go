package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
)

const (
	// eventBatch bounds the events of one query.
	eventBatch = 1000
	// followInterval is how often --follow reads new events, and retries while the database is unreachable.
	followInterval = time.Second
)

// eventReader reads the feed after a cursor.
type eventReader struct {
	operator operator

	selection   opsview.Selection
	sinceTime   *time.Time // by the database's clock; nil with a cursor
	afterCursor opsview.EventCursor
}

func (p *program) eventsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Print the event log, and follow it",
		Long: "Prints what happened to instances, sessions and keys, in the order in which it was committed. The same in SQL: view\n" +
			"ops.event_feed, and ops.events for people; over HTTP: GET /ops/events.\n\n" +
			"--output json prints an object per line. Each has a cursor; --after CURSOR continues after it without a gap, also days later.\n" +
			"With --follow it prints new events until Ctrl-C, and waits while the database is unreachable.",
		Example: "  director events --since 1h --kind 'instance.*'\n" +
			"  director events --follow --region eu-west\n" +
			"  director events --follow --output json --after 81234/0b6bb4a5-6f2f-4d4e-a7a6-5d1d3b3f0d52",
		Args: cli.Exactly(0),
	}
	var f opsview.Selection
	since := cmd.Flags().Duration("since", 15*time.Minute, "How far back to begin")
	requirePositive(cmd, "since", since)
	after := cmd.Flags().String("after", "", "Begin after this cursor, which --output json prints, instead of --since")
	follow := cmd.Flags().BoolP("follow", "f", false, "Continue with new events until Ctrl-C")
	cmd.Flags().StringSliceVar(&f.Kinds, "kind", nil, "Only these kinds, such as session.closed or 'instance.*'")
	completeFixed(cmd, "kind", db.EventKinds)
	p.addFilters(cmd, filterFlag{"region", &f.Region, "Only this region", regionWords},
		filterFlag{"instance", &f.Instance, "Only this game server", instanceWords},
		filterFlag{"session", &f.Session, "Only this session", sessionWords})
	cmd.AddCommand(p.eventsRecord())
	var cursor opsview.EventCursor
	checkFirst(cmd, func([]string) (err error) {
		cursor, err = parseCursor(*after)
		// All mistakes at once.
		err = errors.Join(err, checkKinds(f))
		if err != nil {
			return cli.Usage(err)
		}
		return nil
	})
	return p.onDatabase(cmd, byOperator, func(ctx context.Context, op operator, _ []string) error {
		r := &eventReader{operator: op, selection: f, afterCursor: cursor}
		if err := r.setStart(ctx, *after == "", *since); err != nil {
			return err
		}
		if *follow {
			return r.followFeed(ctx, cmd)
		}
		return r.printToEnd(ctx)
	})
}

// checkKinds refuses a kind that no event has: with it, the log would look empty.
func checkKinds(f opsview.Selection) error {
	if err := opsview.CheckKinds(f.Kinds, db.EventKinds); err != nil {
		return fmt.Errorf("--kind %w", err)
	}
	return nil
}

// parseCursor parses a cursor; "" is the beginning of the log.
func parseCursor(text string) (opsview.EventCursor, error) {
	if text == "" {
		return opsview.EventCursor{}, nil
	}
	cursor, ok := opsview.ParseEventCursor(text)
	if !ok {
		return opsview.EventCursor{}, fmt.Errorf("--after %q is not allowed: it must be a cursor as --output json prints it, number/uuid", text)
	}
	return cursor, nil
}

// setStart sets the time that --since means, or checks the cursor of --after.
func (r *eventReader) setStart(ctx context.Context, bySince bool, since time.Duration) error {
	if !bySince {
		// A cursor of events that were deleted would silently leave a gap.
		err := opsview.CheckCursor(ctx, r.operator.store.Pool(), r.afterCursor)
		if errors.Is(err, opsview.ErrCursorGone) {
			return fmt.Errorf("--after: %w; begin anew without it", err)
		}
		return err
	}
	// By the clock of the database, which events have: that of this machine may be wrong.
	now, err := r.operator.store.DatabaseNow(ctx)
	if err != nil {
		return err
	}
	from := now.Add(-since)
	r.sinceTime = &from
	return nil
}

// printToEnd prints all events after the cursor, in batches.
func (r *eventReader) printToEnd(ctx context.Context) error {
	for {
		page, err := opsview.ReadFeed(ctx, r.operator.store.Pool(), r.afterCursor, r.sinceTime, r.selection, eventBatch)
		if err != nil {
			return err
		}
		for _, e := range page.Events {
			if err := printEvent(r.operator.out, e); err != nil {
				return err
			}
		}
		// The cursor passes all events that were read, also those that the filters left out: otherwise a page of which
		// the filters leave nothing would be read for ever.
		r.afterCursor = page.Next
		if !page.IsFull {
			return nil
		}
	}
}

// followFeed prints new events until ctx ends. It retries while the database is unreachable, and then continues at its
// cursor.
func (r *eventReader) followFeed(ctx context.Context, cmd *cobra.Command) error {
	// A poll and no notification: a poll also works through a pooler, and with a role that may only read the views.
	ticker := time.NewTicker(followInterval)
	defer ticker.Stop()
	waiting := false
	for {
		err := r.printToEnd(ctx)
		switch {
		case ctx.Err() != nil:
			return nil // Ctrl-C is the usual end of --follow: exit code 0
		// Printed once for each outage.
		case isUnavailable(err) && !waiting:
			fmt.Fprintln(cmd.ErrOrStderr(), "(the database is unreachable: waiting)")
		case err != nil && !isUnavailable(err):
			return err
		}
		waiting = err != nil
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// printEvent prints an event as a line: as JSON with its cursor, or for people.
func printEvent(out cli.Output, e opsview.Event) error {
	// An object per line and no array, which would have no end with --follow.
	if out.JSON {
		line, err := json.Marshal(e.Line())
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(out.Writer, string(line))
		return err
	}
	words := []string{e.At.UTC().Format("2006-01-02T15:04:05.000Z"), fmt.Sprintf("%-20s", e.Kind)}
	for _, word := range []string{e.Instance, e.Session} {
		if word != "" {
			words = append(words, word)
		}
	}
	if detail := string(e.Detail); detail != "{}" {
		words = append(words, detail)
	}
	// Most events have the actor director: their lines are shorter without it.
	if e.Actor != "director" {
		words = append(words, "by "+e.Actor)
	}
	_, err := fmt.Fprintln(out.Writer, strings.TrimRight(strings.Join(words, "  "), " "))
	return err
}
