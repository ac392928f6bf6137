//go:build linux || darwin

package pglocal_test

import (
	"os"
	"os/user"
	"strconv"
	"syscall"
	"testing"

	"github.com/lattice-director/director/internal/testkit/must"
)

// account is another user that runs a test's program; nil means the user of the test.
type account struct{ uid, gid int }

// nobody returns the user nobody if root runs the test, to test without privileges, else nil.
func nobody(t *testing.T) *account {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	found := must.Get(user.Lookup("nobody"))(t)
	uid := must.Get(strconv.Atoi(found.Uid))(t)
	gid := must.Get(strconv.Atoi(found.Gid))(t)
	return &account{uid, gid}
}

func (a *account) attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if a != nil {
		attr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	return attr
}
