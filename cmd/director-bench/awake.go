package main

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"
)

// wakeUpTime is where Linux is told within how many microseconds its CPUs must be awake, as four bytes, for as long as
// the file is open (PM Quality of Service). Root may.
const wakeUpTime = "/dev/cpu_dma_latency"

func addAwakeFlag(flags *pflag.FlagSet, awake *bool) {
	flags.BoolVar(awake, "awake", false, "Keep this machine's CPUs from sleeping meanwhile, as root on Linux: a virtual one that sleeps is woken up late by a busy host")
}

// whileAwake measures; where that is asked for, the CPUs do not sleep meanwhile.
func whileAwake(awake bool, device string, measure func() error) error {
	if !awake {
		return measure()
	}
	file, err := os.OpenFile(device, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("--awake: the CPUs of this machine cannot be kept from sleeping: %w", err)
	}
	defer func() { _ = file.Close() }() // lets them sleep
	if _, err := file.Write(make([]byte, 4)); err != nil {
		return fmt.Errorf("--awake: %w", err)
	}
	return measure()
}
