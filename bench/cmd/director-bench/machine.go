package main

import (
	"cmp"
	"fmt"
	"os"
	"runtime"

	"github.com/prometheus/procfs"
)

// machine describes where a measurement was made: figures depend on it.
type machine struct {
	CPUs     int    `json:"cpus"` // available to this process
	CPU      string `json:"cpu"`
	Platform string `json:"platform"`
	Go       string `json:"go"`
	Program  string `json:"program"`            // version of this program
	Postgres string `json:"postgres,omitempty"` // version, if it is known
	Awake    bool   `json:"awake"`              // the CPUs were kept from sleeping
	// Stolen is the share of CPU time that the host of a virtual machine gave to other machines during the measurement;
	// 0 also when the kernel does not report it.
	Stolen float64 `json:"stolen"`

	began procfs.CPUStat
}

// machineHere describes this machine, and begins to count stolen CPU.
func machineHere(awake bool) machine {
	return machine{CPUs: runtime.GOMAXPROCS(0), CPU: cpuModel(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Go: runtime.Version(), Program: cmp.Or(version, "dev"), Awake: awake, began: cpuSoFar()}
}

// withStolenShare returns the machine with the share of CPU time stolen since machineHere.
func (m machine) withStolenShare() machine {
	m.Stolen = stolenShare(m.began, cpuSoFar())
	return m
}

// stolenShare is the share of the CPU time between two readings that the host gave to others.
func stolenShare(before, after procfs.CPUStat) float64 {
	all := allOf(after) - allOf(before)
	if all <= 0 { // the kernel reports none, or no tick has passed
		return 0
	}
	return (after.Steal - before.Steal) / all
}

// cpuSoFar is the time that the CPUs have spent, by activity.
func cpuSoFar() procfs.CPUStat {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return procfs.CPUStat{} // not Linux
	}
	stat, _ := fs.Stat() // zero when it cannot be read
	return stat.CPUTotal
}

// allOf sums all activities except those of guests, which the time of users includes.
func allOf(c procfs.CPUStat) float64 {
	return c.User + c.Nice + c.System + c.Idle + c.Iowait + c.IRQ + c.SoftIRQ + c.Steal
}

// cpuModel is the kernel's name of the processor, or the architecture when it has none.
func cpuModel() string {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return runtime.GOARCH
	}
	cpus, err := fs.CPUInfo()
	if err != nil || len(cpus) == 0 {
		return runtime.GOARCH
	}
	return cmp.Or(cpus[0].ModelName, runtime.GOARCH)
}

// String describes the machine in one line.
func (m machine) String() string {
	text := fmt.Sprintf("%d × %s, %s, %s, director-bench %s", m.CPUs, m.CPU, m.Platform, m.Go, m.Program)
	if m.Postgres != "" {
		text += ", Postgres " + m.Postgres
	}
	if m.Awake {
		text += ", CPUs kept awake"
	}
	if m.Stolen > 0 {
		text += fmt.Sprintf(", %.0f %% of the CPU stolen by its host", 100*m.Stolen)
	}
	return text
}

// latencyDevice is the file of Linux's PM Quality of Service: a program writes the allowed wake-up latency of the CPUs in
// microseconds, as four bytes, which is valid while the file is open. It needs root.
const latencyDevice = "/dev/cpu_dma_latency"

// whileAwake runs a measurement, during which the CPUs do not sleep if that is requested.
func whileAwake(awake bool, device string, measure func() error) error {
	if !awake {
		return measure()
	}
	file, err := os.OpenFile(device, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("--awake: the CPUs of this machine cannot be kept from sleeping: %w", err)
	}
	defer func() { _ = file.Close() }() // permits sleep again
	zeroMicros := make([]byte, 4)
	if _, err := file.Write(zeroMicros); err != nil {
		return fmt.Errorf("--awake: %w", err)
	}
	return measure()
}
