package whatif

import (
	"fmt"
	"strconv"
	"time"

	"github.com/lattice-director/director/match/replay"
)

// Line is a line of a report's table. Recorded is empty where nothing was recorded.
type Line struct{ Measure, Recorded, Replayed string }

// Lines returns the report as a table.
func Lines(r *replay.Report) []Line {
	var lines []Line
	add := func(measure string, of func(*replay.Side) string) {
		line := Line{Measure: measure, Replayed: of(&r.Replayed)}
		if r.Recorded != nil {
			line.Recorded = of(r.Recorded)
		}
		lines = append(lines, line)
	}
	add("tickets", func(s *replay.Side) string { return strconv.Itoa(s.Tickets) })
	add("players", func(s *replay.Side) string { return strconv.Itoa(s.Players) })
	add("tickets matched", func(s *replay.Side) string { return share(s.Matched, s.Tickets) })
	add("tickets never matched", func(s *replay.Side) string { return share(s.NeverMatched.Sum(), s.Tickets) })
	add("  cancelled or expired", func(s *replay.Side) string { return strconv.Itoa(s.NeverMatched.Quit) })
	add("  declined a match", func(s *replay.Side) string { return strconv.Itoa(s.NeverMatched.Declined) })
	add("  taken by others", func(s *replay.Side) string { return strconv.Itoa(s.NeverMatched.Taken) })
	add("  waiting at the end", func(s *replay.Side) string { return strconv.Itoa(s.NeverMatched.Waiting) })
	add("matches", func(s *replay.Side) string { return strconv.Itoa(s.Matches) })
	add("waiting, mean", func(s *replay.Side) string { return seconds(s.Waiting.Mean) })
	add("waiting, p50 p90 p99", func(s *replay.Side) string {
		return seconds(s.Waiting.P50) + "  " + seconds(s.Waiting.P90) + "  " + seconds(s.Waiting.P99)
	})
	for _, id := range rules(r) {
		add(id+", mean p50 p90", func(s *replay.Side) string { return values(qualityOf(s, id)) })
	}
	add("latency ms, mean p50 p90", func(s *replay.Side) string { return values(replay.Quality{Values: s.Latency}) })
	add("fill, mean", func(s *replay.Side) string { return fmt.Sprintf("%.1f %%", 100*s.Fill.Mean) })
	return lines
}

// Verdict returns a line with the number of reproduced matches; "" if nothing was recorded.
func Verdict(r *replay.Report) string {
	m := r.Reproduced
	switch {
	case m == nil:
		return ""
	case m.SameRules > 0:
		return fmt.Sprintf("reproduced %d of %d matches that these rules made", m.FromSame, m.SameRules)
	}
	return fmt.Sprintf("%d of %d recorded matches would have been the same", m.Matches, m.Of)
}

// rules returns the rules that either side has values of.
func rules(r *replay.Report) (ids []string) {
	seen := map[string]bool{}
	sides := []*replay.Side{&r.Replayed}
	if r.Recorded != nil {
		sides = append(sides, r.Recorded)
	}
	for _, s := range sides {
		for _, q := range s.Quality {
			if !seen[q.Rule] {
				seen[q.Rule] = true
				ids = append(ids, q.Rule)
			}
		}
	}
	return ids
}

func qualityOf(s *replay.Side, id string) replay.Quality {
	for _, q := range s.Quality {
		if q.Rule == id {
			return q
		}
	}
	return replay.Quality{}
}

func values(q replay.Quality) string {
	text := "-"
	if q.Values.N > 0 {
		text = fmt.Sprintf("%.4g  %.4g  %.4g", q.Values.Mean, q.Values.P50, q.Values.P90)
	}
	if q.Ended > 0 {
		text += fmt.Sprintf("  (ended: %d)", q.Ended)
	}
	return text
}

func share(n, of int) string {
	if of == 0 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%d (%.1f %%)", n, 100*float64(n)/float64(of))
}

func seconds(s float64) string {
	d := time.Duration(s * float64(time.Second))
	switch {
	case d >= 100*time.Second:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Millisecond).String()
}
