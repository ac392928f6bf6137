//go:build !unix

package subprocess

import "syscall"

// attributes returns nil: the users of this package need a private Postgres, which is not supported on this system.
func attributes() *syscall.SysProcAttr { return nil }
