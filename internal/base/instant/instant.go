// Package instant reads times of the past as people write them.
package instant

import (
	"fmt"
	"time"
)

// Parse returns the time that a text names: an RFC 3339 time; a date and a time of day in UTC, with or without T and
// seconds; a time of day, which is the last one in UTC before now; or a duration, which is so long before now. Errors:
// none of these.
func Parse(text string, now time.Time) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return at, nil
	}
	layouts := []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04"}
	for _, layout := range layouts {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	for _, layout := range []string{"15:04:05", "15:04"} {
		if clock, err := time.Parse(layout, text); err == nil {
			return lastAt(clock, now.UTC()), nil
		}
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	return time.Time{}, fmt.Errorf("%q is no time: write 2026-11-27T21:03:07Z, 2026-11-27 21:03:07 or 21:03:07 in UTC, "+
		"or 10m for ten minutes ago", text)
}

// lastAt returns the last moment before now with a time of day.
func lastAt(clock, now time.Time) time.Time {
	at := time.Date(now.Year(), now.Month(), now.Day(), clock.Hour(), clock.Minute(), clock.Second(), 0, time.UTC)
	if at.After(now) {
		at = at.AddDate(0, 0, -1)
	}
	return at
}
