package console

import (
	"context"
	"time"
)

// samples are the measures of the last minutes: a timeline for each measure and subject.
type samples struct {
	now     time.Time
	minutes int
	count   int // of values that were read
	lines   map[[2]string]*timeline
}

// readSamples reads measures of the last minutes, of all regions or, with a region, of that one.
func readSamples(ctx context.Context, s Store, region string, minutes int, measures ...string) (samples, error) {
	found, err := s.MinuteSamples(ctx, region, minutes, measures...)
	all := samples{now: time.Now(), minutes: minutes, count: len(found), lines: map[[2]string]*timeline{}}
	for _, f := range found {
		all.line(f.Measure, f.Subject).add(f.Minute, f.Value)
	}
	return all, err
}

// line returns the timeline of a measure, which has no value where there is none.
func (s samples) line(measure, subject string) *timeline {
	key := [2]string{measure, subject}
	if s.lines[key] == nil {
		s.lines[key] = s.newLine()
	}
	return s.lines[key]
}

func (s samples) newLine() *timeline { return newTimeline(s.now, s.minutes) }

// instances returns how many game servers are in a state: 0 in the minutes in which only others have a value.
func (s samples) instances(state string) []float64 {
	const measure = "instances"
	values := s.line(measure, state).gaps()
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

// any reports whether a worker has taken any.
func (s samples) any() bool { return s.count > 0 }

// fleetPlots are the game servers by state, and the seats of those that are ready.
func (s samples) fleetPlots() []plotData {
	if !s.any() {
		return nil
	}
	states := s.newLine().plot("Game servers by state", "")
	for _, state := range []string{"ready", "draining", "starting", "silent"} {
		states.Lines = append(states.Lines, series{state, s.instances(state)})
	}
	seats := s.newLine().plot("Seats of ready game servers", "",
		series{"capacity", s.line("capacity", "").gaps()}, series{"reserved", s.line("reserved", "").gaps()})
	return []plotData{states, seats}
}

// gamePlots are what players and operators of a game ask about first.
func (s samples) gamePlots() []plotData {
	if !s.any() {
		return nil
	}
	at := s.newLine()
	return []plotData{
		at.plot("Players with a seat", "", series{"players", s.line("players", "").gaps()}),
		at.plot("Waiting tickets and players", "",
			series{"tickets in the queue", s.line("tickets", "").gaps()},
			series{"players without a game server", s.line("waiting_players", "").gaps()}),
		at.plot("Wait of the oldest ticket", " s",
			series{"oldest ticket", s.line("oldest_ticket", "").gaps()}),
		at.plot("Game servers that died or are silent", "",
			series{"silent: no heartbeat in time", s.instances("silent")},
			series{"died in that minute", s.line("lost", "").values}),
	}
}

// machineryPlots are what holds the director up.
func (s samples) machineryPlots() []plotData {
	if !s.any() {
		return nil
	}
	at := s.newLine()
	return []plotData{
		at.plot("Age of the oldest snapshot, which blocks vacuum", " s",
			series{"oldest snapshot", s.line("oldest_snapshot", "").gaps()}),
		at.plot("Loops of workers that are late", "", series{"late loops", s.line("late_loops", "").gaps()}),
	}
}
