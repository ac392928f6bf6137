//go:build unix

package orchestrator

import (
	"fmt"
	"syscall"
)

// checkOpenFiles returns an error if this process may not open a connection for each agent. The director that a
// laboratory starts has the same limit.
func checkOpenFiles(agents int) error {
	const others = 256 // files and connections beside those of agents
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	if need := uint64(agents + others); limit.Cur < need {
		return fmt.Errorf("%d agents need %d open files, and this process may open %d: raise the limit with ulimit -n",
			agents, need, limit.Cur)
	}
	return nil
}
