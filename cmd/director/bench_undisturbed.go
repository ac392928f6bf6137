package main

import (
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/pflag"
)

// wakeUpTime is where Linux is told within how many microseconds its CPUs must be awake, as four bytes, for as long as
// the file is open (PM Quality of Service). Root may.
const wakeUpTime = "/dev/cpu_dma_latency"

func addAwakeFlag(flags *pflag.FlagSet, awake *bool) {
	flags.BoolVar(awake, "awake", false, "Keep this machine's CPUs from sleeping meanwhile, as root on Linux: a virtual one that sleeps is woken up late by a busy host")
}

// loadGarbage is how many per cent of what the load keeps may become garbage before it is collected. Thousands of streams
// that it holds open are looked through each time, and who waits meanwhile would count that for the director's.
const loadGarbage = 800

// undisturbed measures while this process and, where that is asked for, the sleep of the CPUs disturb as little as they can.
func undisturbed(awake bool, device string, measure func() error) error {
	defer debug.SetGCPercent(debug.SetGCPercent(loadGarbage))
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
