//go:build linux || darwin

package pglocal_test

import (
	"os"
	"os/user"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// account is another user that runs a test's program; nil means the user of the test.
type account struct{ uid, gid int }

// nobody returns the user nobody if root runs the test, to test without privileges, else nil.
func nobody(t *testing.T) *account {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	found, err := user.Lookup("nobody")
	require.NoError(t, err)
	uid, err := strconv.Atoi(found.Uid)
	require.NoError(t, err)
	gid, err := strconv.Atoi(found.Gid)
	require.NoError(t, err)
	return &account{uid, gid}
}

func (a *account) attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if a != nil {
		attr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	return attr
}
