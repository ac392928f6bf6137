package proof

import (
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// separable says whether processes can be given CPUs of their own here.
var separable = runtime.NumCPU() > 1

// keepTo restricts this process, and processes that it starts from now on, to the CPUs from the first to before the
// end, of those that runtime.NumCPU counts.
func keepTo(first, end int) error {
	var cpus unix.CPUSet
	for cpu := first; cpu < end; cpu++ {
		cpus.Set(cpu)
	}
	// A new thread inherits the CPUs of the thread that started it, so that the second pass finds no thread left to
	// restrict.
	for range 2 {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return fmt.Errorf("keep the load apart: %w", err)
		}
		for _, thread := range threads {
			id, err := strconv.Atoi(thread.Name())
			if err != nil {
				return fmt.Errorf("keep the load apart: %w", err)
			}
			if err := unix.SchedSetaffinity(id, &cpus); err != nil && err != unix.ESRCH {
				return fmt.Errorf("keep the load apart: %w", err)
			}
		}
	}
	return nil
}
