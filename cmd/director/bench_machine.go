package main

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// machine is where a measurement was made: without it figures say little.
type machine struct {
	CPUs     int    `json:"cpus"` // that this process may use
	CPU      string `json:"cpu"`
	Platform string `json:"platform"`
	Go       string `json:"go"`
	Director string `json:"director"`
	Postgres string `json:"postgres,omitempty"` // of the director that was started for it
}

func machineHere(postgres string) machine {
	b := buildVersion()
	return machine{runtime.GOMAXPROCS(0), cpuModel(), b.Platform, b.Go, b.Version, postgres}
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

// String is a line for people.
func (m machine) String() string {
	text := fmt.Sprintf("%d × %s, %s, %s, director %s", m.CPUs, m.CPU, m.Platform, m.Go, m.Director)
	if m.Postgres != "" {
		text += ", Postgres " + m.Postgres
	}
	return text
}
