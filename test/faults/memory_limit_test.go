package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// limitMemory makes directors run within that much memory: in a cgroup where the machine permits one, else with
// GOMEMLIMIT.
func (r *rig) limitMemory(limit int64) {
	group, err := memoryGroup(r.T, limit)
	if err != nil {
		r.T.Logf("no cgroup: %v", err)
		r.NextEnv = append(r.NextEnv, fmt.Sprintf("GOMEMLIMIT=%d", limit/10*9))
		return
	}
	script := filepath.Join(r.T.TempDir(), "director")
	text := fmt.Sprintf("#!/bin/sh\necho $$ > %s/cgroup.procs && exec %s \"$@\"\n", group, r.BinaryPath)
	require.NoError(r.T, os.WriteFile(script, []byte(text), 0o700))
	r.BinaryPath = script
}

// memoryGroup makes a cgroup of version 2 or 1 with this limit, and removes it after the test.
func memoryGroup(t *testing.T, limit int64) (dir string, err error) {
	name := "director-test-" + strconv.Itoa(os.Getpid())
	for parent, file := range map[string]string{"/sys/fs/cgroup": "memory.max",
		"/sys/fs/cgroup/memory": "memory.limit_in_bytes"} {
		if _, missing := os.Stat(filepath.Join(parent, "cgroup.procs")); missing != nil {
			err = errors.Join(err, missing)
			continue
		}
		dir = filepath.Join(parent, name)
		madeErr := errors.Join(os.Mkdir(dir, 0o700),
			os.WriteFile(filepath.Join(dir, file), []byte(strconv.FormatInt(limit, 10)), 0o600))
		if madeErr == nil {
			t.Cleanup(func() { _ = os.Remove(dir) })
			return dir, nil
		}
		_ = os.Remove(dir)
		err = errors.Join(err, madeErr)
	}
	return "", err
}
