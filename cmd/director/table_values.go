package main

import (
	"fmt"
	"strconv"
	"time"
)

// orBlank returns the value of a cell, "" for nil.
func orBlank[T any](p *T) any {
	if p == nil {
		return ""
	}
	return *p
}

// readableTime formats a time in UTC, as events and logs have it; "" for nil.
func readableTime(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// formatAgo formats elapsed seconds for people, such as "1m30s ago".
func formatAgo(seconds *float64) string {
	if seconds == nil {
		return ""
	}
	d := time.Duration(*seconds * float64(time.Second))
	// Tenths of seconds matter for heartbeats, which come every few seconds.
	if d > time.Minute {
		return briefDuration(d.Round(time.Second)) + " ago"
	}
	return briefDuration(d.Round(100*time.Millisecond)) + " ago"
}

// forecastState says whether a pool's forecast has an effect.
func forecastState(isOn bool) string {
	if isOn {
		return "on: it raises min"
	}
	return "off"
}

// countText formats a number; nil: it is not known.
func countText(n *int32) string {
	if n == nil {
		return "–"
	}
	return fmt.Sprint(*n)
}

// formatShare formats a share, from 0 to 1, in percent.
func formatShare(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// limitText is "none" for nil, the word that sets no limit.
func limitText(limit *int32) string {
	if limit == nil {
		return "none"
	}
	return strconv.Itoa(int(*limit))
}

// versionOrBlank is "" for 0: no shadow.
func versionOrBlank(version int) any {
	if version == 0 {
		return ""
	}
	return version
}
