//go:build !unix

package lab

import "syscall"

// attributes are not needed where there is no private Postgres, and so no lab.
func attributes() *syscall.SysProcAttr { return nil }
