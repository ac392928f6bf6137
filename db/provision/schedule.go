package provision

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Schedule raises the least number of servers of a pool between two times of the local clocks of a zone: on weekdays,
// or once. Where summer time begins, a time that the clocks skip stands for the moment at which they skip it. Where it
// ends, of a time that the clocks show twice, the first one is a start, and the second one an end. The database's clock
// decides whether a schedule holds.
type Schedule struct {
	Zone    string // IANA; "" in a declaration: the pool's
	Days    []int  // on which it begins, sorted: 1 is Monday and 7 Sunday; nil: it is an event, which has dates
	StartOn string // of an event, such as 2026-12-24
	EndOn   string // of an event
	StartAt string // such as 18:00
	EndAt   string // on weekdays: of the same day if later than StartAt, else of the next day
	Min     int    // servers
}

// Formats of dates and times of a schedule.
const (
	DateFormat = "2006-01-02"
	TimeFormat = "15:04"
)

const (
	maxSchedules   = 32
	maxEventLength = 31 * 24 * time.Hour
)

// zoneForm is what the name of a time zone may be. checkZones asks the database whether a name is that of a zone.
var zoneForm = regexp.MustCompile(`^[A-Za-z0-9_+/-]{1,64}$`)

const zoneWords = "an IANA time zone such as Europe/Berlin"

// dayNames are the weekdays as documents write them, from Monday.
var dayNames = [...]string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}

// Title returns the schedule in words, without its number of servers.
func (s Schedule) Title() string {
	if s.Days == nil {
		return fmt.Sprintf("%s %s to %s %s %s", s.StartOn, s.StartAt, s.EndOn, s.EndAt, s.Zone)
	}
	return fmt.Sprintf("%s %s to %s %s", DaysText(s.Days), s.StartAt, s.EndAt, s.Zone)
}

// DaysText returns weekdays as documents write them: "fri-sun", "mon,wed", "daily".
func DaysText(days []int) string {
	if len(days) == len(dayNames) {
		return "daily"
	}
	var runs []string
	for i := 0; i < len(days); {
		last := i
		// Two days in a row are a run already: "sat-sun". Days from before Sunday to after it become two runs.
		for last+1 < len(days) && days[last+1] == days[last]+1 {
			last++
		}
		run := dayNames[days[i]-1]
		if last > i {
			run += "-" + dayNames[days[last]-1]
		}
		runs, i = append(runs, run), last+1
	}
	return strings.Join(runs, ",")
}

// ParseDays reads what [DaysText] writes. A range may go over Sunday, such as sat-mon.
func ParseDays(text string) ([]int, error) {
	var chosen [len(dayNames)]bool
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(strings.ToLower(strings.TrimSpace(part)), "-")
		if first == "daily" && !isRange {
			first, last, isRange = dayNames[0], dayNames[len(dayNames)-1], true
		}
		if !isRange {
			last = first
		}
		from, to := dayIndex(first), dayIndex(last)
		if from < 0 || to < 0 {
			return nil, fmt.Errorf("%.40q must be weekdays such as fri-sun, mon,wed or daily: "+
				"mon, tue, wed, thu, fri, sat, sun", text)
		}
		// Modulo, so that a range may go over Sunday. It ends at the day to, also if that is the first one.
		for day := from; ; day = (day + 1) % len(dayNames) {
			chosen[day] = true
			if day == to {
				break
			}
		}
	}
	var days []int
	for i, isChosen := range chosen {
		if isChosen {
			days = append(days, i+1)
		}
	}
	return days, nil
}

// dayIndex returns the index of a weekday in dayNames; -1 for another text.
func dayIndex(name string) int {
	for i, day := range dayNames {
		if day == strings.TrimSpace(name) {
			return i
		}
	}
	return -1
}

// check reports what is wrong with a schedule of a pool that has at most maxServers servers.
func (s Schedule) check(at problems, maxServers int) {
	at.checkNumber("min", s.Min, 1, max(maxServers, 1))
	if s.Zone != "" {
		at.checkText("at", s.Zone, zoneForm, zoneWords)
	}
	for _, day := range s.Days {
		if day < 1 || day > len(dayNames) {
			at.addf("days", "%d must be a weekday of 1, Monday, to 7, Sunday", day)
		}
	}
	// A schedule with an empty list is no event, and would never hold.
	if s.Days != nil && len(s.Days) == 0 {
		at.addf("days", "must have a weekday")
	}
	start, err := time.Parse(TimeFormat, s.StartAt)
	if err != nil {
		at.addf("at", "%.40q must be a time such as 18:00", s.StartAt)
	}
	end, err := time.Parse(TimeFormat, s.EndAt)
	if err != nil {
		at.addf("until", "%.40q must be a time such as 23:30", s.EndAt)
	}
	if s.Days == nil {
		s.checkEvent(at, start, end)
	}
}

// checkEvent reports what is wrong with the dates of an event.
func (s Schedule) checkEvent(at problems, startAt, endAt time.Time) {
	startOn, err := time.Parse(DateFormat, s.StartOn)
	if err != nil {
		at.addf("at", "%.40q must be a date such as 2026-12-24", s.StartOn)
		return
	}
	endOn, err := time.Parse(DateFormat, s.EndOn)
	if err != nil {
		at.addf("until", "%.40q must be a date such as 2026-12-25", s.EndOn)
		return
	}
	// By the local clocks: an hour that they skip or show twice in between does not count.
	length := endOn.Sub(startOn) + endAt.Sub(startAt)
	if length <= 0 || length > maxEventLength {
		at.addf("until", "must be after the start, and at most 31 days after it")
	}
}

// storedSchedule is a schedule as ListPools reads it.
type storedSchedule struct {
	Zone    string `json:"zone"`
	Days    []int  `json:"days"`
	StartOn string `json:"start_on"`
	EndOn   string `json:"end_on"`
	StartAt string `json:"start_at"`
	EndAt   string `json:"end_at"`
	Min     int    `json:"min"`
}

// schedulesOf decodes the schedules of a pool, which ListPools returns as JSON.
func schedulesOf(stored []byte) ([]Schedule, error) {
	var rows []storedSchedule
	if err := json.Unmarshal(stored, &rows); err != nil {
		return nil, err
	}
	var all []Schedule
	for _, r := range rows {
		// The same fields in the same order, as the compiler checks; only the tags differ.
		all = append(all, Schedule(r))
	}
	return all, nil
}

// defaultZone is the time zone of a pool that names none.
const defaultZone = "UTC"
