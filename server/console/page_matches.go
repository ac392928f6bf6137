package console

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/opsview"
)

// matchesView is what templates/matches.html reads.
type matchesView struct {
	Profile        string
	Profiles       []string // for the filter
	Running        []opsview.Match
	HasMoreRunning bool
	Past           []opsview.PastMatch
	Next           string
	Plots          []plotData
}

// matchesPage shows the matches of a universe, and how good those of the last hour are. At 100 matches a second the
// measures take 60 ms of the database.
func matchesPage(universe string) page[matchesView] {
	return page[matchesView]{routePath: "/matches", templateName: "matches", readEvery: 30 * time.Second,
		loadData: func(ctx context.Context, s Store, q query) (v matchesView, err error) {
			v.Profile = q.Get("profile")
			f := opsview.MatchFilter{Universe: universe, Profile: v.Profile}
			// Further pages show past matches alone.
			if !q.Paged() {
				if err := v.loadPresent(ctx, s, f); err != nil {
					return v, err
				}
			}
			profiles, _, err := listView(ctx, s, opsview.Profiles, opsview.ProfileFilter{Universe: universe},
				opsview.Page{Limit: opsview.MaxProfiles})
			if err != nil {
				return v, err
			}
			for _, p := range profiles {
				v.Profiles = append(v.Profiles, p.Profile)
			}
			return v, v.loadPast(ctx, s, q, f)
		}}
}

// loadPresent reads what only the first page shows: the matches that play, and the plots.
func (v *matchesView) loadPresent(ctx context.Context, s Store, f opsview.MatchFilter) (err error) {
	v.Running, v.HasMoreRunning, err = listView(ctx, s, opsview.Matches, f, opsview.Page{Limit: pageSize})
	if err != nil {
		return err
	}
	minutes, _, err := listView(ctx, s, opsview.MatchMinutes, opsview.MinuteFilter(f),
		opsview.Page{Limit: opsview.MaxMinutes})
	if err != nil {
		return err
	}
	past, err := readSamples(ctx, s, f.Universe, hour, "matches")
	v.Plots = qualityPlots(minutes, past, f.Profile)
	return err
}

// loadPast reads a page of the matches that were committed, latest first.
func (v *matchesView) loadPast(ctx context.Context, s Store, q query, f opsview.MatchFilter) error {
	committed := opsview.PastMatchFilter{Universe: f.Universe, Profile: f.Profile}
	from := opsview.Page{Limit: pageSize}
	first, second := q.lastKey()
	before, timeErr := time.Parse(time.RFC3339Nano, first)
	id, idErr := uuid.Parse(second)
	if timeErr == nil && idErr == nil { // a malformed key is the first page
		committed.Until, from.After = before, []any{before, id}
	}
	past, more, err := listView(ctx, s, opsview.PastMatches, committed, from)
	v.Past = past
	if more {
		last := past[len(past)-1]
		v.Next = q.Next(last.CommittedAt.UTC().Format(time.RFC3339Nano), last.Match.String())
	}
	return err
}

// maxPlots bounds the measures that are shown: each rule of each profile may have one.
const maxPlots = 12

// qualityPlots makes plots of the matches of a profile or, for "", of all profiles. The first is of their number, and
// there is one for each measure, with its mean and its highest value in each minute. If several profiles have the
// measure, the plot has the highest of their means, and the highest of their values.
func qualityPlots(minutes []opsview.MatchMinute, past samples, profile string) []plotData {
	means, peaks, now := map[string]*timeline{}, map[string]*timeline{}, past.now
	var measures []string
	for _, m := range minutes {
		if means[m.Measure] == nil {
			measures = append(measures, m.Measure)
			means[m.Measure], peaks[m.Measure] = newTimeline(now, hour), newTimeline(now, hour)
		}
		means[m.Measure].keepHighest(m.Minute, m.Mean)
		peaks[m.Measure].keepHighest(m.Minute, m.Highest)
	}
	if len(measures) == 0 {
		return nil
	}
	matches := past.matchesOf(profile)
	// Workers count only minutes with matches, so another minute without a value had none. The last one is a gap: perhaps
	// no worker has counted it yet.
	if last := hour - 1; !matches.isKnown[last] {
		matches.values[last] = -1
	}
	slices.SortFunc(measures, func(a, b string) int { return strings.Compare(measureOrder(a), measureOrder(b)) })
	plots := []plotData{matches.plotOf("Matches, each minute", "", series{"matches", matches.values})}
	for _, name := range measures[:min(len(measures), maxPlots)] {
		title, unit := measureName(name)
		plots = append(plots, means[name].plotOf(title, unit, series{"highest", peaks[name].valuesWithGaps()},
			series{"mean", means[name].valuesWithGaps()}))
	}
	return plots
}

// measureOrder is the text by which measures are sorted: the measures that every profile has come first, since digits
// sort before the names of rules.
func measureOrder(name string) string {
	return map[string]string{"players": "0", "latency_ms": "1"}[name] + name
}

// measureName returns the title of a measure of ops.match_minutes, and its unit.
func measureName(name string) (title, unit string) {
	switch name {
	case "players":
		return "Players of a match", ""
	case "latency_ms":
		return "Latency of the player farthest from the server", " ms"
	}
	return "Difference that " + name + " compared", ""
}
