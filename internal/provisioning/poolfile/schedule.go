package poolfile

import (
	"cmp"
	"strings"
	"time"

	"github.com/lattice-director/director/db/provision"
)

const (
	atWords = "must be a time such as 18:00, with a date before it for an event, and a time zone behind it, " +
		"such as 2026-12-24 18:00 Europe/Berlin"
	untilWords = "must be a time such as 23:30 or, of an event, a date and a time"
)

// convertSchedule reads an entry. Without days it begins each day, unless at has a date.
func (c *converter) convertSchedule(path string, s schedule) provision.Schedule {
	out := provision.Schedule{Min: int(s.Min)}
	var rest string
	var ok bool
	// Only the zone is behind the time, and no name of a zone has a space.
	if out.StartOn, out.StartAt, rest, ok = cutTime(string(s.At)); !ok || strings.Contains(rest, " ") {
		c.addProblemf(path+"at", "%.60q %s", s.At, atWords)
		return out
	}
	out.Zone = rest
	if out.EndOn, out.EndAt, rest, ok = cutTime(string(s.Until)); !ok || rest != "" {
		c.addProblemf(path+"until", "%.60q %s", s.Until, untilWords)
		return out
	}
	if out.StartOn == "" {
		c.convertWeekdays(path, s, &out)
		return out
	}
	if s.Days != "" {
		c.addProblemf(path+"days", "an event has a date, and no weekdays")
	}
	if out.EndOn == "" {
		out.EndOn = eventEnd(out)
	}
	return out
}

// convertWeekdays reads the days of an entry without dates.
func (c *converter) convertWeekdays(path string, s schedule, out *provision.Schedule) {
	days, err := provision.ParseDays(string(cmp.Or(s.Days, "daily")))
	if err != nil {
		c.addProblemf(path+"days", "%s", err)
	}
	out.Days = days
	if out.EndOn != "" {
		c.addProblemf(path+"until", "%.60q has a date, and at has none: an event needs both", s.Until)
	}
}

// eventEnd returns the date on which an event ends whose end is only a time: that of its start, or the next one.
func eventEnd(s provision.Schedule) string {
	startOn, err := time.Parse(provision.DateFormat, s.StartOn)
	// Times of day have two digits for the hour, so that they compare as texts.
	if err == nil && s.EndAt <= s.StartAt {
		return startOn.AddDate(0, 0, 1).Format(provision.DateFormat)
	}
	return s.StartOn
}

// cutTime reads a time with an optional date before it, and returns what is behind it.
func cutTime(t string) (date, clock, rest string, ok bool) {
	first, rest, _ := strings.Cut(strings.TrimSpace(t), " ")
	if _, err := time.Parse(provision.DateFormat, first); err == nil {
		date = first
		first, rest, _ = strings.Cut(strings.TrimSpace(rest), " ")
	}
	at, err := time.Parse(provision.TimeFormat, first)
	// Written anew: 9:00 becomes 09:00, and times can be compared as texts.
	return date, at.Format(provision.TimeFormat), strings.TrimSpace(rest), err == nil
}

// scheduleOf writes an entry as a document declares it.
func scheduleOf(s provision.Schedule) schedule {
	out := schedule{At: text(strings.TrimSpace(s.StartOn + " " + s.StartAt + " " + s.Zone)),
		Until: text(strings.TrimSpace(s.EndOn + " " + s.EndAt)), Min: whole(s.Min)}
	if s.Days != nil {
		out.Days = text(provision.DaysText(s.Days))
	}
	return out
}
