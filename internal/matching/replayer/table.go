package replayer

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/replay"
)

// Line is a line of a report's table. Recorded is empty where nothing was recorded.
type Line struct{ Measure, Recorded, Replayed string }

// Lines returns the report as a table.
func Lines(r *replay.Report) []Line {
	var lines []Line
	// add adds a line with the measure of both sides. Lines of the replayed side alone are appended below.
	add := func(measure string, of func(*replay.Side) string) {
		line := Line{Measure: measure, Replayed: of(&r.Replayed)}
		if r.Recorded != nil {
			line.Recorded = of(r.Recorded)
		}
		lines = append(lines, line)
	}
	add("tickets", func(s *replay.Side) string { return strconv.Itoa(s.Tickets) })
	add("players", func(s *replay.Side) string { return strconv.Itoa(s.Players) })
	add("tickets matched", func(s *replay.Side) string { return formatShare(s.Matched, s.Tickets) })
	add("tickets never matched", func(s *replay.Side) string { return formatShare(s.NeverMatched.Sum(), s.Tickets) })
	add("  cancelled or expired", func(s *replay.Side) string { return strconv.Itoa(s.NeverMatched.Quit) })
	add("  declined a match", func(s *replay.Side) string { return strconv.Itoa(s.NeverMatched.Declined) })
	add("  taken by others", func(s *replay.Side) string { return strconv.Itoa(s.NeverMatched.Taken) })
	add("  waiting at the end", func(s *replay.Side) string { return strconv.Itoa(s.NeverMatched.Waiting) })
	if n := r.NoCandidates.Tickets; n > 0 {
		lines = append(lines, Line{Measure: "  no candidates", Replayed: strconv.Itoa(n)})
	}
	add("matches", func(s *replay.Side) string { return strconv.Itoa(s.Matches) })
	add("waiting, mean", func(s *replay.Side) string { return formatSeconds(s.Waiting.Mean) })
	add("waiting, p50 p95 max", func(s *replay.Side) string {
		return formatSeconds(s.Waiting.P50) + "  " + formatSeconds(s.Waiting.P95) + "  " + formatSeconds(s.Waiting.Max)
	})
	for _, id := range measuredRules(r) {
		add(id+", mean p50 p95 max", func(s *replay.Side) string { return qualityValues(qualityOf(s, id)) })
	}
	for _, p := range r.Replayed.Preferences {
		lines = append(lines, Line{Measure: p.Rule + ", satisfied",
			Replayed: formatShare(p.Matches, r.Replayed.Matches)})
	}
	if t := r.Replayed.Trade; t != nil {
		add("cost a player, in seconds", costOf)
		// Both sides have a part for each trade of the replayed profile, in its order.
		for i, part := range t.Parts {
			add("  "+part.Of+", mean", func(s *replay.Side) string { return partOf(s, i) })
		}
		add("  waiting, mean", waitingCostOf)
	}
	add("latency ms, mean p50 p95 max",
		func(s *replay.Side) string { return qualityValues(replay.Quality{Values: s.Latency}) })
	add("fill, mean", func(s *replay.Side) string { return fmt.Sprintf("%.1f %%", 100*s.Fill.Mean) })
	return lines
}

func costOf(s *replay.Side) string {
	if s.Trade == nil {
		return "-"
	}
	return fmt.Sprintf("%.4g", s.Trade.Total)
}

func partOf(s *replay.Side, i int) string {
	if s.Trade == nil {
		return "-"
	}
	return fmt.Sprintf("%.4g (%.4g s)", s.Trade.Parts[i].Value, s.Trade.Parts[i].Seconds)
}

func waitingCostOf(s *replay.Side) string {
	if s.Trade == nil {
		return "-"
	}
	return formatSeconds(s.Trade.Waiting)
}

// Optimum compares the cost with the least possible; "" where that is not known.
func Optimum(r *replay.Report) string {
	if r.Optimum == nil {
		return ""
	}
	return fmt.Sprintf("cost: %.4g s a ticket, at most %.2f times the least possible for somebody who knew all "+
		"arrivals (%d tickets compared)",
		r.Optimum.Paid, r.Optimum.Ratio, r.Optimum.Tickets)
}

// NoCandidates says in a line for each reason why the rules leave tickets out.
func NoCandidates(r *replay.Report) (lines []string) {
	for _, why := range r.NoCandidates.Why {
		lines = append(lines, fmt.Sprintf("%d: %s", why.Tickets, lackText(why)))
	}
	return lines
}

func lackText(why replay.LackingCount) string {
	switch why.Reason {
	case decide.LacksPlayer:
		return "they name no player"
	case decide.LacksSource:
		return fmt.Sprintf("nobody vouches for a player's %s as the profile asks", why.Attribute)
	case decide.LacksPool:
		return "the profile's pool does not hold them"
	case decide.LacksAttribute:
		return fmt.Sprintf("a player has no value of attribute %s that rule %s can compare", why.Attribute, why.Rule)
	case decide.LacksLatency:
		return fmt.Sprintf("they measured no latency, which rule %s needs", why.Rule)
	case decide.LacksRoom:
		return "their party is larger than any team"
	case decide.LacksMode:
		return "they allow none of the profile's modes"
	case decide.LacksRule, decide.LacksPlaces:
		return string(why.Reason) // no replay asks for these
	}
	return string(why.Reason)
}

// Bands returns a plot of the spread of matches against their waiting, a line for each band; nil without matches.
func Bands(r *replay.Report) (lines []string) {
	most := 0.0
	for _, b := range r.Replayed.Bands {
		most = max(most, b.Spread)
	}
	for _, b := range r.Replayed.Bands {
		label := "longer"
		if b.UpTo > 0 {
			label = "< " + formatSeconds(b.UpTo)
		}
		length := 0
		// 40 characters for the widest spread; nothing where all matches are even.
		if most > 0 {
			length = int(math.Round(40 * b.Spread / most))
		}
		lines = append(lines, fmt.Sprintf("%8s  %s %.4g (%d matches)", label, strings.Repeat("█", length), b.Spread,
			b.Matches))
	}
	return lines
}

// Verdict returns a line with the number of reproduced matches; "" if nothing was recorded.
func Verdict(r *replay.Report) string {
	m := r.Reproduced
	if m == nil {
		return ""
	}
	// Only matches of the same rules can be expected again; others are compared for information.
	if m.SameRules > 0 {
		return fmt.Sprintf("reproduced %d of %d matches that these rules made", m.FromSame, m.SameRules)
	}
	return fmt.Sprintf("%d of %d recorded matches would have been the same", m.Matches, m.Of)
}

// FirstDifference says which match of the same rules the replay did not make first, and why; "" if there is none.
func FirstDifference(r *replay.Report) string {
	if r.Reproduced == nil || r.Reproduced.First == nil {
		return ""
	}
	d := r.Reproduced.First
	return fmt.Sprintf("the first that differs is match %s, decided at %s, with ticket %s: %s", d.Match,
		d.Decided.UTC().Format(time.RFC3339Nano), d.Ticket, d.Why)
}

// measuredRules returns the rules that either side has values of.
func measuredRules(r *replay.Report) (ids []string) {
	// A rule may have values on one side alone: the rules of the replay may be others than those that matched.
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

func qualityValues(q replay.Quality) string {
	text := "-"
	if q.Values.N > 0 {
		text = fmt.Sprintf("%.4g  %.4g  %.4g  %.4g", q.Values.Mean, q.Values.P50, q.Values.P95, q.Values.Max)
	}
	// Matches in which a step of the profile had ended the rule have no value of it.
	if q.Ended > 0 {
		text += fmt.Sprintf("  (ended: %d)", q.Ended)
	}
	return text
}

func formatShare(n, of int) string {
	// Of nothing there is no share.
	if of == 0 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%d (%.1f %%)", n, 100*float64(n)/float64(of))
}

func formatSeconds(s float64) string {
	d := time.Duration(s * float64(time.Second))
	switch {
	case d >= 100*time.Second:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Millisecond).String()
}
