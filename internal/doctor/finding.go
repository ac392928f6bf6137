package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lattice-director/director/internal/base/dbcause"
	"github.com/lattice-director/director/internal/base/timetext"
)

// The states of a Finding, from good to bad.
const (
	OK   = "ok"
	Warn = "warn"
	Fail = "fail"
)

// Finding is the result of a check: what was seen, and what to do about it.
type Finding struct {
	Check string `json:"check"`
	State string `json:"state"` // ok, warn or fail
	// what was seen, with numbers, or that nothing could be seen
	Says  string `json:"says"`
	Cause string `json:"cause,omitempty"` // in the words of Postgres or of the network, where that is the cause
	Do    string `json:"do,omitempty"`    // what to do; empty: nothing
	// the heading in docs/runbook.md that says more; empty where nothing is wrong
	Section string `json:"section,omitempty"`

	Figure *Figure `json:"-"`
}

// Figure is the number of a check that a tile of the page of health shows.
type Figure struct{ Value, Label string }

// withFigure adds a Figure to a Finding.
func (f Finding) withFigure(value, label string) Finding {
	f.Figure = &Figure{value, label}
	return f
}

// fromCause adds the cause, and what to do about that.
func (f Finding) fromCause(c dbcause.Cause) Finding {
	f.Cause, f.Do, f.Section = c.Words, c.Do, c.Section
	return f
}

// inSection sets the section of the runbook if it is another one than that of the check; "" stands for that of the
// check.
func (f Finding) inSection(section string) Finding {
	f.Section = section
	return f
}

// Severity returns 0 for ok, 1 for warn and 2 for fail, as in the metric of findings.
func (f Finding) Severity() int { return severityOf(f.State) }

// worstOf judges each of all and returns the first finding in the worst state; none where all is empty.
func worstOf[T any](all []T, none Finding, judge func(T) Finding) Finding {
	worst := none
	for i, one := range all {
		// The first replaces none, which is about an empty list, also if it is ok.
		if found := judge(one); i == 0 || severityOf(found.State) > severityOf(worst.State) {
			worst = found
		}
	}
	return worst
}

func severityOf(state string) int { return slices.Index([]string{OK, Warn, Fail}, state) }

func goodFinding(says string, args ...any) Finding {
	return Finding{State: OK, Says: fmt.Sprintf(says, args...)}
}

func warningFinding(do, says string, args ...any) Finding {
	return Finding{State: Warn, Says: fmt.Sprintf(says, args...), Do: do}
}

func failureFinding(do, says string, args ...any) Finding {
	return Finding{State: Fail, Says: fmt.Sprintf(says, args...), Do: do}
}

// uncheckedFinding is the failure of a check that could not run.
func uncheckedFinding(err error) Finding {
	f := failureFinding("see the error; the role needs the views of schema ops (ops/grants.sql)",
		"not known: it could not be checked: %s", oneLine(err))
	if c, known := dbcause.FromError(err); known {
		f = failureFinding("", "not known: it could not be checked").fromCause(c)
	}
	return f
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// reasonPhrase appends a reason to a sentence, if there is one.
func reasonPhrase(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// formatSeconds formats seconds for people.
func formatSeconds(seconds float64) string {
	return briefDuration(time.Duration(seconds * float64(time.Second)))
}

// briefDuration formats a duration for people.
func briefDuration(d time.Duration) string {
	if d > time.Minute {
		return timetext.Brief(d.Round(time.Second))
	}
	return timetext.Brief(d.Round(time.Millisecond))
}
