package main

import (
	"fmt"
	"os"
)

// wakeUpTime is the file of Linux's PM Quality of Service: a program writes the allowed wake-up latency of the CPUs in
// microseconds, as four bytes, which is valid while the file is open. It needs root.
const wakeUpTime = "/dev/cpu_dma_latency"

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
	if _, err := file.Write(make([]byte, 4)); err != nil {
		return fmt.Errorf("--awake: %w", err)
	}
	return measure()
}
