package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/db/query"
)

// processLine is a process of the director, from its connections and its report. Idle is the time in seconds since its
// last statement (nil: it has no connection, or that may not be seen), Silent that since its last report (nil: it is of
// an older release, or has not reported yet).
type processLine query.DoctorProcessesRow

// frozenAfter is the time in seconds that a running process is silent at most, with much to spare: it sends a statement
// about every second and a report every five.
const frozenAfter = 15

// vanishedFor is the time in seconds for which a process that ended without shutting down is reported.
const vanishedFor = 600

// processGroup is the processes of one kind, by what has become of them.
type processGroup struct {
	runningOnes, frozenOnes, vanishedOnes []processLine
}

// groupOf returns the processes of some kinds. What a process does is the second word of its name; director dev is both
// a replica and a worker.
func groupOf(all []processLine, kinds ...string) (g processGroup) {
	for _, p := range all {
		words := strings.Fields(p.Process)
		if len(words) < 2 || !slices.Contains(kinds, words[1]) {
			continue
		}
		switch {
		case p.Connections > 0 && !p.isFrozen(), p.Connections == 0 && p.Silent != nil && *p.Silent <= frozenAfter:
			g.runningOnes = append(g.runningOnes, p)
		case p.Connections > 0:
			g.frozenOnes = append(g.frozenOnes, p)
		// A process without a connection is known from its report alone, so Silent is not nil.
		case *p.Silent <= vanishedFor:
			g.vanishedOnes = append(g.vanishedOnes, p)
		}
	}
	return g
}

// isFrozen reports whether a connected process sends nothing. A process whose reports alone are old runs, and cannot
// write.
func (p processLine) isFrozen() bool {
	if p.Idle != nil {
		return *p.Idle > frozenAfter
	}
	return p.Silent != nil && *p.Silent > frozenAfter
}

// hostName is the part of the name before the process id.
func (p processLine) hostName() string {
	slash := strings.LastIndexByte(p.Process, '/')
	return p.Process[:max(slash, 0)]
}

// lostProcesses returns those that vanished and were not started again on the same host.
func (g processGroup) lostProcesses() (all []processLine) {
	for _, p := range g.vanishedOnes {
		if !slices.ContainsFunc(g.runningOnes, func(o processLine) bool { return o.hostName() == p.hostName() }) {
			all = append(all, p)
		}
	}
	return all
}

func (d Doctor) readProcesses(ctx context.Context) ([]processLine, error) {
	all, err := d.newQueries().DoctorProcesses(ctx)
	return convertRows[processLine](all, func(r query.DoctorProcessesRow) processLine { return processLine(r) }), err
}

func (d Doctor) checkReplicas(ctx context.Context) (Finding, error) {
	all, err := d.readProcesses(ctx)
	if err != nil {
		return Finding{}, err
	}
	a, err := d.readAmnesty(ctx)
	if err != nil {
		return Finding{}, err
	}
	return judgeReplicas(groupOf(all, "serve", "dev"), a), nil
}

const restartFrozen = "restart it, or give its machine CPU and network back"

const frozenSection = "A replica or a worker is frozen or cut off"

// judgeReplicas uses the pulse only where it finds no process: replicas of an older release whose DATABASE_URL names
// their connections.
func judgeReplicas(g processGroup, a amnestyLine) Finding {
	running, frozen, lost := len(g.runningOnes), len(g.frozenOnes), g.lostProcesses()
	figure := fmt.Sprintf("%d of %d", running, running+frozen+len(lost))
	switch {
	case running+frozen == 0 && a.Pulse != nil && *a.Pulse <= a.Lease:
		return goodFinding("one or more are running, last sign %s ago; how many is not known, because their "+
			"connections do not have the director's names", formatSeconds(*a.Pulse))
	// Without a figure: the number of replicas that should run is not known.
	case running+frozen == 0 && a.Pulse == nil && len(lost) == 0:
		return failureFinding("start 'director serve', or check its log and /readyz",
			"no replica has ever served this database")
	case running+frozen == 0:
		return failureFinding("start 'director serve', or check its log and /readyz", "no replica is running%s",
			lostPhrase(lost)).withFigure("0", "replicas are running")
	case running == 0:
		return failureFinding(restartFrozen, "none of %d replicas runs: they are connected, and frozen or cut off: %s", frozen,
			silenceTexts(g.frozenOnes)).
			inSection(frozenSection).withFigure(figure, "replicas are running")
	case frozen > 0:
		return warningFinding(restartFrozen, "%d of %d replicas run; frozen or cut off: %s", running, running+frozen,
			silenceTexts(g.frozenOnes)).
			inSection(frozenSection).withFigure(figure, "replicas are running")
	case len(lost) > 0:
		return warningFinding("start it again, and look for the reason in its log",
			"%d of %d replicas run; ended without shutting down: %s", running, running+len(lost), silenceTexts(lost)).
			withFigure(figure, "replicas are running")
	}
	return goodFinding("%d running", running).withFigure(fmt.Sprint(running), "replicas are running")
}

// lostPhrase names the processes that ended without shutting down, if there are any.
func lostPhrase(lost []processLine) string {
	if len(lost) == 0 {
		return ""
	}
	return "; ended without shutting down: " + silenceTexts(lost)
}

// silenceTexts names processes, and for how long nothing came from each.
func silenceTexts(all []processLine) string {
	const maxNames = 5
	var names []string
	for _, p := range all[:min(len(all), maxNames)] {
		// Idle or Silent is there: a process is known by its connection or by its report.
		quiet := p.Idle
		if quiet == nil {
			quiet = p.Silent
		}
		names = append(names, fmt.Sprintf("%s (silent for %s)", p.Process, formatSeconds(*quiet)))
	}
	if len(all) > maxNames {
		names = append(names, fmt.Sprintf("and %d more", len(all)-maxNames))
	}
	return strings.Join(names, ", ")
}

func (d Doctor) checkWorkers(ctx context.Context) (Finding, error) {
	loops, err := opsview.WorkerLoops.Read(ctx, d.Store.Pool(), opsview.Any{},
		opsview.Page{Order: opsview.OldestRunFirst})
	if err != nil {
		return Finding{}, err
	}
	all, err := d.readProcesses(ctx)
	if err != nil {
		return Finding{}, err
	}
	return judgeWorkers(loops, groupOf(all, "work")), nil
}

func judgeWorkers(loops []opsview.WorkerLoop, g processGroup) Finding {
	const start = "start 'director work', or 'director serve --work'"
	if len(loops) == 0 {
		return failureFinding(start, "no worker has run on this database")
	}
	var late []string
	youngest := loops[0].Age
	for _, l := range loops {
		youngest = min(youngest, l.Age)
		if l.Late {
			late = append(late, fmt.Sprintf("%s (%s ago)", l.Loop, briefDuration(l.Age)))
		}
	}
	switch {
	// Judged by the successes that loops record, and not by processes: a replica may run a worker as well.
	case youngest > time.Minute:
		return failureFinding(start, "no worker is running: the last successful run of any loop was %s ago",
			briefDuration(youngest))
	case late != nil:
		return failureFinding("look for \"failing\" in the worker's log", "loops that fail: %s",
			strings.Join(late, ", "))
	case len(g.frozenOnes) > 0:
		return warningFinding(restartFrozen, "%d of %d workers run; frozen or cut off: %s", len(g.runningOnes),
			len(g.runningOnes)+len(g.frozenOnes),
			silenceTexts(g.frozenOnes)).inSection(frozenSection)
	// Only a warning: the other workers take its loops over.
	case len(g.lostProcesses()) > 0:
		return warningFinding("start it again, and look for the reason in its log",
			"%d of %d workers run; ended without shutting down: %s", len(g.runningOnes),
			len(g.runningOnes)+len(g.lostProcesses()), silenceTexts(g.lostProcesses()))
	}
	return goodFinding("all %d loops succeeded recently", len(loops))
}
