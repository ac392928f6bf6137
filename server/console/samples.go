package console

import (
	"context"
	"time"
)

// samples are the measures of the last hour: a timeline for each measure and subject.
type samples struct {
	now   time.Time
	lines map[[2]string]*timeline
}

// readSamples reads measures of the last hour, of all regions or, with a region, of that one.
func readSamples(ctx context.Context, s Store, region string, measures ...string) (samples, error) {
	found, err := s.MinuteSamples(ctx, region, measures...)
	all := samples{now: time.Now(), lines: map[[2]string]*timeline{}}
	for _, f := range found {
		all.line(f.Measure, f.Subject).add(f.Minute, f.Value)
	}
	return all, err
}

// line returns the timeline of a measure, which has no value where there is none.
func (s samples) line(measure, subject string) *timeline {
	key := [2]string{measure, subject}
	if s.lines[key] == nil {
		s.lines[key] = newTimeline(s.now)
	}
	return s.lines[key]
}

// instances returns how many game servers are in a state: 0 in the minutes in which only others have a value.
func (s samples) instances(state string) []float64 {
	const measure = "instances"
	values := s.line(measure, state).gaps()
	for key, other := range s.lines {
		for i, known := range other.isKnown {
			if key[0] == measure && known && values[i] < 0 {
				values[i] = 0
			}
		}
	}
	return values
}

// any reports whether there are any.
func (s samples) any() bool { return len(s.lines) > 0 }

// fleetPlots are the game servers by state, and the seats of those that are ready.
func (s samples) fleetPlots() []plotData {
	if !s.any() {
		return nil
	}
	states := newTimeline(s.now).plot("Game servers by state", "")
	for _, state := range []string{"ready", "draining", "starting", "silent"} {
		states.Lines = append(states.Lines, series{state, s.instances(state)})
	}
	seats := newTimeline(s.now).plot("Seats of ready game servers", "",
		series{"capacity", s.line("capacity", "").gaps()}, series{"reserved", s.line("reserved", "").gaps()})
	return []plotData{states, seats}
}

// healthPlots are what waits, and what holds the director up.
func (s samples) healthPlots() []plotData {
	if !s.any() {
		return nil
	}
	at := newTimeline(s.now)
	return []plotData{
		at.plot("Tickets and players who wait", "",
			series{"tickets in the queue", s.line("tickets", "").gaps()},
			series{"players without a game server", s.line("waiting_players", "").gaps()}),
		at.plot("Seconds that the oldest ticket has waited", " s",
			series{"oldest ticket", s.line("oldest_ticket", "").gaps()}),
		at.plot("Game servers without a heartbeat in time", "", series{"silent", s.instances("silent")}),
		at.plot("Age of the oldest snapshot, which keeps vacuum from cleaning", " s",
			series{"oldest snapshot", s.line("oldest_snapshot", "").gaps()}),
		at.plot("Loops of workers that are late", "", series{"late loops", s.line("late_loops", "").gaps()}),
	}
}
