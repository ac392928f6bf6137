package console

import "time"

// hour is the minutes of a timeline, unless a page offers a choice: the views of minutes show the last hour.
const hour = 60

// timeline has a value for each of the last minutes, oldest first. The current minute is not over, and left out.
type timeline struct {
	from    time.Time
	values  []float64
	isKnown []bool
}

// newTimeline makes a timeline of so many minutes that ends with the minute before now.
func newTimeline(now time.Time, minutes int) *timeline {
	return &timeline{from: now.UTC().Truncate(time.Minute).Add(-time.Duration(minutes) * time.Minute),
		values: make([]float64, minutes), isKnown: make([]bool, minutes)}
}

// index returns the place of a minute; ok is false for a minute that the timeline does not have.
func (t *timeline) index(minute time.Time) (i int, ok bool) {
	i = int(minute.Sub(t.from) / time.Minute)
	return i, i >= 0 && i < len(t.values) && !minute.Before(t.from)
}

func (t *timeline) add(minute time.Time, value float64) {
	if i, ok := t.index(minute); ok {
		t.values[i], t.isKnown[i] = t.values[i]+value, true
	}
}

func (t *timeline) highest(minute time.Time, value float64) {
	if i, ok := t.index(minute); ok {
		t.values[i], t.isKnown[i] = max(t.values[i], value), true
	}
}

// sum adds all values up.
func (t *timeline) sum() (all float64) {
	for _, v := range t.values {
		all += v
	}
	return all
}

// gaps returns the values, with a gap for each minute that has none.
func (t *timeline) gaps() []float64 {
	all := make([]float64, len(t.values))
	for i, v := range t.values {
		all[i] = v
		if !t.isKnown[i] {
			all[i] = -1
		}
	}
	return all
}

// plot is a plot of lines over the minutes of the timeline.
func (t *timeline) plot(title, unit string, lines ...series) plotData {
	return plotData{Title: title, Unit: unit, From: t.from,
		Until: t.from.Add(time.Duration(len(t.values)-1) * time.Minute), Lines: lines}
}
