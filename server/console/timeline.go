package console

import "time"

// hour is the number of minutes of a timeline, unless the page offers a choice: views of minutes show the last hour.
const hour = 60

// timeline has a value for each of the last minutes, oldest first. The current minute is not over, and left out.
type timeline struct {
	fromMinute time.Time
	values     []float64
	isKnown    []bool
}

// newTimeline makes a timeline of so many minutes that ends with the minute before now.
func newTimeline(now time.Time, minutes int) *timeline {
	return &timeline{fromMinute: now.UTC().Truncate(time.Minute).Add(-time.Duration(minutes) * time.Minute),
		values: make([]float64, minutes), isKnown: make([]bool, minutes)}
}

// indexOf returns the place of a minute; ok is false for a minute that the timeline does not have.
func (t *timeline) indexOf(minute time.Time) (i int, ok bool) {
	// The division rounds towards 0: without the last comparison, the minute before the first would count as the first.
	i = int(minute.Sub(t.fromMinute) / time.Minute)
	return i, i >= 0 && i < len(t.values) && !minute.Before(t.fromMinute)
}

// addValue adds to the value of a minute. Minutes that the timeline does not have are ignored: the current one, and
// those that have become too old since they were read.
func (t *timeline) addValue(minute time.Time, value float64) {
	if i, ok := t.indexOf(minute); ok {
		t.values[i], t.isKnown[i] = t.values[i]+value, true
	}
}

// keepHighest keeps the highest value of a minute, where several profiles have one.
func (t *timeline) keepHighest(minute time.Time, value float64) {
	if i, ok := t.indexOf(minute); ok {
		t.values[i], t.isKnown[i] = max(t.values[i], value), true
	}
}

// sumAll returns the sum of all values.
func (t *timeline) sumAll() (all float64) {
	for _, v := range t.values {
		all += v
	}
	return all
}

// valuesWithGaps returns the values, with a gap for each minute that has none.
func (t *timeline) valuesWithGaps() []float64 {
	all := make([]float64, len(t.values))
	for i, v := range t.values {
		all[i] = v
		if !t.isKnown[i] {
			all[i] = -1
		}
	}
	return all
}

// plotOf is a plot of lines over the minutes of the timeline.
func (t *timeline) plotOf(title, unit string, lines ...series) plotData {
	return plotOver(t.fromMinute, len(t.values), title, unit, lines...)
}

// plotOver is a plot of lines over so many minutes.
func plotOver(from time.Time, minutes int, title, unit string, lines ...series) plotData {
	return plotData{Title: title, Unit: unit, From: from,
		Until: from.Add(time.Duration(minutes-1) * time.Minute), Lines: lines}
}
