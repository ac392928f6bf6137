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

// Replicas and workers: which of them run, and what they report of themselves.

// processLine is a process of the director, from its connections and its report. Idle is the time in seconds since its
// last statement (nil: it has no connection, or that may not be seen), Silent that since its last report (nil: it is of
// an older release, or has not reported yet).
type processLine query.DoctorProcessesRow

// frozenAfter is for how long a process that runs is silent at most, in seconds, with much to spare: it sends a
// statement about every second and a report every five.
const frozenAfter = 15

// vanishedFor is for how long a process that ended without shutting down is news, in seconds.
const vanishedFor = 600

// roll is the processes of one kind, by what has become of them.
type roll struct {
	runningOnes, frozenOnes, vanishedOnes []processLine
}

// rollOf sorts processes. What a process does is the second word of its name; director dev is both a replica and a
// worker.
func rollOf(all []processLine, kinds ...string) (r roll) {
	for _, p := range all {
		words := strings.Fields(p.Process)
		if len(words) < 2 || !slices.Contains(kinds, words[1]) {
			continue
		}
		switch {
		case p.Connections > 0 && !p.isFrozen(), p.Connections == 0 && p.Silent != nil && *p.Silent <= frozenAfter:
			r.runningOnes = append(r.runningOnes, p)
		case p.Connections > 0:
			r.frozenOnes = append(r.frozenOnes, p)
		// A process without a connection is known from its report alone, so Silent is not nil.
		case *p.Silent <= vanishedFor:
			r.vanishedOnes = append(r.vanishedOnes, p)
		}
	}
	return r
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
	at := strings.LastIndexByte(p.Process, '/')
	return p.Process[:max(at, 0)]
}

// lostProcesses returns those that vanished and were not started again on the same host.
func (r roll) lostProcesses() (all []processLine) {
	for _, p := range r.vanishedOnes {
		if !slices.ContainsFunc(r.runningOnes, func(o processLine) bool { return o.hostName() == p.hostName() }) {
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
	return judgeReplicas(rollOf(all, "serve", "dev"), a), nil
}

const thaw = "restart it, or give its machine CPU and network back"

const frozenSection = "A replica or a worker is frozen or cut off"

// judgeReplicas uses the pulse only where it finds no process: replicas of an older release whose DATABASE_URL names
// their connections.
func judgeReplicas(r roll, a amnestyLine) Finding {
	running, frozen, lost := len(r.runningOnes), len(r.frozenOnes), r.lostProcesses()
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
			lastOf(lost)).withMeasure("0", "replicas are running")
	case running == 0:
		return failureFinding(thaw, "none of %d replicas runs: they are connected, and frozen or cut off: %s", frozen,
			silenceTexts(r.frozenOnes)).
			inSection(frozenSection).withMeasure(figure, "replicas are running")
	case frozen > 0:
		return warningFinding(thaw, "%d of %d replicas run; frozen or cut off: %s", running, running+frozen,
			silenceTexts(r.frozenOnes)).
			inSection(frozenSection).withMeasure(figure, "replicas are running")
	case len(lost) > 0:
		return warningFinding("start it again, and look for the reason in its log",
			"%d of %d replicas run; ended without shutting down: %s", running, running+len(lost), silenceTexts(lost)).
			withMeasure(figure, "replicas are running")
	}
	return goodFinding("%d running", running).withMeasure(fmt.Sprint(running), "replicas are running")
}

func lastOf(lost []processLine) string {
	if len(lost) == 0 {
		return ""
	}
	return "; ended without shutting down: " + silenceTexts(lost)
}

// silenceTexts names processes, and for how long nothing came from each.
func silenceTexts(all []processLine) string {
	const most = 5
	var names []string
	for _, p := range all[:min(len(all), most)] {
		// One of the two is there: a process is known by its connection or by its report.
		quiet := p.Idle
		if quiet == nil {
			quiet = p.Silent
		}
		names = append(names, fmt.Sprintf("%s (silent for %s)", p.Process, formatSeconds(*quiet)))
	}
	if len(all) > most {
		names = append(names, fmt.Sprintf("and %d more", len(all)-most))
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
	return judgeWorkers(loops, rollOf(all, "work")), nil
}

func judgeWorkers(loops []opsview.WorkerLoop, r roll) Finding {
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
	// By the successes that loops record, and not by processes: a replica may run a worker as well.
	case youngest > time.Minute:
		return failureFinding(start, "no worker is running: the last successful run of any loop was %s ago",
			briefDuration(youngest))
	case late != nil:
		return failureFinding("look for \"failing\" in the worker's log", "loops that fail: %s",
			strings.Join(late, ", "))
	case len(r.frozenOnes) > 0:
		return warningFinding(thaw, "%d of %d workers run; frozen or cut off: %s", len(r.runningOnes),
			len(r.runningOnes)+len(r.frozenOnes),
			silenceTexts(r.frozenOnes)).inSection(frozenSection)
	// Only a warning: the other workers take its loops over.
	case len(r.lostProcesses()) > 0:
		return warningFinding("start it again, and look for the reason in its log",
			"%d of %d workers run; ended without shutting down: %s", len(r.runningOnes),
			len(r.runningOnes)+len(r.lostProcesses()), silenceTexts(r.lostProcesses()))
	}
	return goodFinding("all %d loops succeeded recently", len(loops))
}

// reportedTrouble is what processes report of themselves, the same of all that report it.
type reportedTrouble query.DoctorTroublesRow

func (d Doctor) checkKeySets(ctx context.Context) (Finding, error) {
	found, err := d.newQueries().DoctorTroubles(ctx)
	if err != nil {
		return Finding{}, err
	}
	return judgeKeySets(convertRows[reportedTrouble](found,
		func(r query.DoctorTroublesRow) reportedTrouble { return reportedTrouble(r) })), nil
}

// judgeKeySets returns the worst of what replicas report; among equals, what most of them do.
func judgeKeySets(found []reportedTrouble) Finding {
	worst := goodFinding("no replica reports a key set that it cannot use")
	for _, t := range found {
		says := fmt.Sprintf("%s: %s", t.Subject, t.Says)
		if t.Processes > 1 {
			says += fmt.Sprintf(" (%d replicas report it)", t.Processes)
		}
		f := Finding{State: t.State, Says: says, Do: t.Remedy, Section: t.Section}
		// The rows begin with what most replicas report: among equals the first one stays.
		if severityOf(f.State) > severityOf(worst.State) {
			worst = f
		}
	}
	return worst
}
