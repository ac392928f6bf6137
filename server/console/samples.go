package console

import (
	"context"
	"time"
)

// samples are the measures of the last minutes: a timeline for each measure and subject.
type samples struct {
	now     time.Time
	minutes int
	count   int                     // of values that were read
	lines   map[[2]string]*timeline // by measure and subject
}

// readSamples reads measures of the last minutes, of all regions or, with a region, of that one.
func readSamples(ctx context.Context, s Store, region string, minutes int, measures ...string) (samples, error) {
	found, err := s.MinuteSamples(ctx, region, minutes, measures...)
	all := samples{now: time.Now(), minutes: minutes, count: len(found), lines: map[[2]string]*timeline{}}
	for _, f := range found {
		key := [2]string{f.Measure, f.Subject}
		if all.lines[key] == nil {
			all.lines[key] = all.newLine()
		}
		all.lines[key].addValue(f.Minute, f.Value)
	}
	return all, err
}

// lineOf returns the timeline of a measure; an empty one if no value was read.
func (s samples) lineOf(measure, subject string) *timeline {
	if line := s.lines[[2]string{measure, subject}]; line != nil {
		return line
	}
	return s.newLine()
}

// newLine returns an empty timeline of the minutes of the samples.
func (s samples) newLine() *timeline { return newTimeline(s.now, s.minutes) }

// instancesLine returns how many game servers were in a state, in each minute: 0 if only other states have a value.
func (s samples) instancesLine(state string) []float64 {
	const measure = "instances"
	values := s.lineOf(measure, state).valuesWithGaps()
	for key, other := range s.lines {
		for i, known := range other.isKnown {
			// A worker writes only the states that some game server is in, so a minute with another state means none in
			// this one.
			if key[0] == measure && known && values[i] < 0 {
				values[i] = 0
			}
		}
	}
	return values
}

// matchesOf returns how many matches a profile made or, for "", all profiles together. It is for samples that have the
// measure "matches" only.
func (s samples) matchesOf(profile string) *timeline {
	matches := s.newLine()
	for key, line := range s.lines {
		for i, known := range line.isKnown {
			if known && (profile == "" || key[1] == profile) {
				matches.values[i], matches.isKnown[i] = matches.values[i]+line.values[i], true
			}
		}
	}
	return matches
}

// hasAny reports whether any value was read; otherwise no worker has taken samples.
func (s samples) hasAny() bool { return s.count > 0 }

// fleetPlots are the game servers by state, and the seats of those that are ready.
func (s samples) fleetPlots() []plotData {
	if !s.hasAny() {
		return nil
	}
	states := s.newLine().plotOf("Game servers by state", "")
	for _, state := range []string{"ready", "draining", "starting", "silent"} {
		states.Lines = append(states.Lines, series{state, s.instancesLine(state)})
	}
	seats := s.newLine().plotOf("Seats of ready game servers", "",
		series{"capacity", s.lineOf("capacity", "").valuesWithGaps()},
		series{"reserved", s.lineOf("reserved", "").valuesWithGaps()})
	return []plotData{states, seats}
}

// gamePlots are what players and operators of a game ask about first.
func (s samples) gamePlots() []plotData {
	if !s.hasAny() {
		return nil
	}
	base := s.newLine()
	return []plotData{
		base.plotOf("Players with a seat", "", series{"players", s.lineOf("players", "").valuesWithGaps()}),
		base.plotOf("Waiting tickets and players", "",
			series{"tickets in the queue", s.lineOf("tickets", "").valuesWithGaps()},
			series{"players without a game server", s.lineOf("waiting_players", "").valuesWithGaps()}),
		base.plotOf("Wait of the oldest ticket", " s",
			series{"oldest ticket", s.lineOf("oldest_ticket", "").valuesWithGaps()}),
		base.plotOf("Game servers that died or are silent", "",
			series{"silent: no heartbeat in time", s.instancesLine("silent")},
			// Without gaps: workers count a minute only if a game server died in it.
			series{"died in that minute", s.lineOf("lost", "").values}),
	}
}

// machineryPlots are of what slows the director down.
func (s samples) machineryPlots() []plotData {
	if !s.hasAny() {
		return nil
	}
	base := s.newLine()
	return []plotData{
		base.plotOf("Age of the oldest snapshot, which blocks vacuum", " s",
			series{"oldest snapshot", s.lineOf("oldest_snapshot", "").valuesWithGaps()}),
		base.plotOf("Loops of workers that are late", "",
			series{"late loops", s.lineOf("late_loops", "").valuesWithGaps()}),
	}
}
