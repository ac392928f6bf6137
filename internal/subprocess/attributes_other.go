//go:build !unix

package subprocess

import "syscall"

// attributes are none: what uses this package needs a private Postgres, which there is none of here.
func attributes() *syscall.SysProcAttr { return nil }
