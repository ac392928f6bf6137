package main

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/prometheus/procfs"
)

// machine is where a measurement was made: without it figures say little.
type machine struct {
	CPUs     int    `json:"cpus"` // that this process may use
	CPU      string `json:"cpu"`
	Platform string `json:"platform"`
	Go       string `json:"go"`
	Director string `json:"director,omitempty"` // its version, where it was started for this
	Postgres string `json:"postgres,omitempty"` // of the director that was started for it
	Awake    bool   `json:"awake"`              // its CPUs were kept from sleeping
	// Stolen is the share of the CPU time that the host of a virtual machine gave to others meanwhile; 0 also where the kernel
	// does not tell.
	Stolen float64 `json:"stolen"`

	began procfs.CPUStat
}

func machineHere(director, postgres string, awake bool) machine {
	return machine{
		CPUs: runtime.GOMAXPROCS(0), CPU: cpuModel(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(),
		Director: director, Postgres: postgres, Awake: awake, began: cpuSoFar(),
	}
}

// measured tells what was stolen since machineHere, too.
func (m machine) measured() machine {
	m.Stolen = stolenShare(m.began, cpuSoFar())
	return m
}

func stolenShare(before, after procfs.CPUStat) float64 {
	all := allOf(after) - allOf(before)
	if all <= 0 {
		return 0
	}
	return (after.Steal - before.Steal) / all
}

// cpuSoFar is the time that the CPUs have had, by what they did with it.
func cpuSoFar() procfs.CPUStat {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return procfs.CPUStat{}
	}
	stat, err := fs.Stat()
	if err != nil {
		return procfs.CPUStat{}
	}
	return stat.CPUTotal
}

// allOf leaves out guests, whose time is in that of users already.
func allOf(c procfs.CPUStat) float64 {
	return c.User + c.Nice + c.System + c.Idle + c.Iowait + c.IRQ + c.SoftIRQ + c.Steal
}

// cpuModel is what the kernel calls the processor, or its architecture where it does not tell.
func cpuModel() string {
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	defer func() { _ = file.Close() }()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if name, model, _ := strings.Cut(lines.Text(), ":"); strings.TrimSpace(name) == "model name" {
			return cmp.Or(strings.TrimSpace(model), runtime.GOARCH)
		}
	}
	return runtime.GOARCH
}

const keptAwake = "CPUs kept awake"

func (m machine) stolen() string {
	return fmt.Sprintf("%.0f %% of the CPU stolen by its host", 100*m.Stolen)
}

// String is a line for people.
func (m machine) String() string {
	text := fmt.Sprintf("%d × %s, %s, %s", m.CPUs, m.CPU, m.Platform, m.Go)
	if m.Director != "" {
		text += ", director " + m.Director
	}
	if m.Postgres != "" {
		text += ", Postgres " + m.Postgres
	}
	if m.Awake {
		text += ", " + keptAwake
	}
	if m.Stolen > 0 {
		text += ", " + m.stolen()
	}
	return text
}
