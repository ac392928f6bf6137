package lab

import (
	"errors"
	"time"

	"github.com/prometheus/procfs"
)

// tick is the unit in which the kernel counts CPU time for others to read (USER_HZ, 100 on every architecture of
// Linux).
const tick = 10 * time.Millisecond

// CanMeasureCPU reports whether the system shows the CPU time of processes.
func CanMeasureCPU() bool {
	_, err := procfs.NewDefaultFS()
	return err == nil
}

// usage returns the CPU that a process has used, and the bytes of memory that it holds now.
func usage(pid int) (cpu time.Duration, rss int64, err error) {
	if !CanMeasureCPU() {
		return 0, 0, nil
	}
	stat, err := statOf(pid)
	return own(stat), int64(stat.ResidentMemory()), err
}

// statOf reads /proc of a process, whose CPU it counts in ticks.
func statOf(pid int) (procfs.ProcStat, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return procfs.ProcStat{}, err
	}
	return p.Stat()
}

// own is the CPU of a process without its children, user and system.
func own(s procfs.ProcStat) time.Duration { return time.Duration(s.UTime+s.STime) * tick }

// reaped is the CPU of ended children.
func reaped(s procfs.ProcStat) time.Duration { return time.Duration(s.CUTime+s.CSTime) * tick }

var errRestless = errors.New("the processes of Postgres come and go too fast to be counted")

// familyCPU is the CPU of a process and all its children, including ended ones: Postgres starts all its processes itself.
// A child that ends during the reading would be counted twice or not at all: then it reads again.
func familyCPU(pid int) (time.Duration, error) {
	if !CanMeasureCPU() {
		return 0, nil
	}
	for range 10 {
		before, err := statOf(pid)
		if err != nil {
			return 0, err
		}
		all, err := procfs.AllProcs()
		if err != nil {
			return 0, err
		}
		total := own(before) + reaped(before)
		for _, p := range all {
			if stat, err := p.Stat(); err == nil && stat.PPID == pid { // processes may end during the loop
				total += own(stat)
			}
		}
		after, err := statOf(pid)
		if err != nil || reaped(before) == reaped(after) { // no child has ended in between
			return total, err
		}
	}
	return 0, errRestless
}
