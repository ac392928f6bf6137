package opsview

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/lattice-director/director/internal/base/nearest"
)

// Selection selects events of the feed. An empty field selects all.
type Selection struct {
	Kinds    []string // such as session.closed, or patterns such as instance.* and *
	Region   string
	Instance string
	Session  string // region.uuid
}

// Selects reports whether an event is selected.
func (s Selection) Selects(e Event) bool {
	kind := len(s.Kinds) == 0 || slices.ContainsFunc(s.Kinds, func(k string) bool { return kindMatches(k, e.Kind) })
	return kind && isWanted(s.Region, e.Region) && isWanted(s.Instance, e.Instance) && isWanted(s.Session, e.Session)
}

func kindMatches(pattern, kind string) bool {
	same, _ := path.Match(pattern, kind) // CheckKinds refuses malformed patterns
	return same
}

// CheckKinds refuses kinds and patterns that no known kind has: a misspelt one would select nothing, which reads as if
// nothing had happened.
func CheckKinds(patterns, known []string) error {
	for _, p := range patterns {
		if _, err := path.Match(p, ""); err != nil {
			return fmt.Errorf("%q is not allowed: it must be a kind such as session.closed, or a pattern such as "+
				"'instance.*'", p)
		}
		if !slices.ContainsFunc(known, func(kind string) bool { return kindMatches(p, kind) }) {
			return fmt.Errorf("%q is not allowed: no event has this kind%s", p, suggestedKind(p, known))
		}
	}
	return nil
}

// suggestedKind returns the end of an error that names the kind or pattern which was probably meant.
func suggestedKind(pattern string, known []string) string {
	// For a pattern of all kinds of a noun, another such pattern was meant.
	if strings.HasSuffix(pattern, ".*") {
		nouns := make([]string, len(known))
		for i, kind := range known {
			noun, _, _ := strings.Cut(kind, ".")
			nouns[i] = noun + ".*"
		}
		known = nouns
	}
	if similar := nearest.Word(pattern, known); similar != "" {
		return fmt.Sprintf("; did you mean %s?", similar)
	}
	return "; docs/reference/events.md lists the kinds"
}

// ErrCursorGone is the error of a cursor whose event is not in the log: its day was dropped after the retention, or it
// is the cursor of another database.
var ErrCursorGone = errors.New("the log has no event at this cursor: it was dropped after its retention, " +
	"or the cursor is that of another database")

// CheckCursor returns an error if events may be missing between a cursor, which a caller got from this log, and what
// can be read after it. The zero cursor is the beginning of the log, wherever that is now. Errors: ErrCursorGone, and
// those of the query.
func CheckCursor(ctx context.Context, q Querier, c EventCursor) error {
	if c == (EventCursor{}) {
		return nil
	}
	found, err := EventFeed.Read(ctx, q, FeedFilter{Only: &c}, Page{Limit: 1})
	if err == nil && len(found) == 0 {
		return ErrCursorGone
	}
	return err
}

// FeedPage is a page of the feed, oldest first.
type FeedPage struct {
	Events []Event     // those that are selected
	Next   EventCursor // where the next page begins: after all events that were read
	IsFull bool        // more events may follow at once
}

// ReadFeed reads up to limit events after a cursor, from a time on if since is not nil, and returns those that are
// selected. All that follows the log reads it this way: no event before Next is left out, and none appears there later.
func ReadFeed(ctx context.Context, q Querier, after EventCursor, since *time.Time, s Selection,
	limit int) (FeedPage, error) {
	all, err := EventFeed.Read(ctx, q, FeedFilter{Since: since}, Page{After: after.Key(), Limit: limit})
	if err != nil {
		return FeedPage{}, err
	}
	page := FeedPage{Next: after, IsFull: len(all) == limit}
	for _, e := range all {
		page.Next = e.Cursor()
		if s.Selects(e) {
			page.Events = append(page.Events, e)
		}
	}
	return page, nil
}
