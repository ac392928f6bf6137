package pglocal

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
)

// account is the user of the operating system that Postgres runs as.
type account struct {
	other    bool // than the one we run as; uid and gid are only set then
	uid, gid uint32
	name     string
}

// accountFor picks who runs Postgres: we do, unless we are root, whom Postgres refuses.
func accountFor(data string) (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	if info, err := os.Stat(data); err == nil {
		if uid, gid := ownerOf(info); uid != 0 {
			return account{other: true, uid: uid, gid: gid, name: "user " + strconv.Itoa(int(uid))}, nil
		}
	}
	for _, name := range []string{"postgres", "_postgres", "nobody"} {
		if found, err := user.Lookup(name); err == nil {
			return accountOf(found)
		}
	}
	return account{}, fmt.Errorf("Postgres refuses to run as root, and there is neither a user postgres nor nobody")
}

func accountOf(found *user.User) (account, error) {
	uid, err := strconv.ParseUint(found.Uid, 10, 32)
	if err != nil {
		return account{}, fmt.Errorf("user %s: %w", found.Username, err)
	}
	gid, err := strconv.ParseUint(found.Gid, 10, 32)
	if err != nil {
		return account{}, fmt.Errorf("user %s: %w", found.Username, err)
	}
	return account{other: true, uid: uint32(uid), gid: uint32(gid), name: "user " + found.Username}, nil
}

// own makes path the account's.
func (a account) own(path string) error {
	if !a.other {
		return nil
	}
	return os.Lchown(path, int(a.uid), int(a.gid))
}

// privateDir makes a directory that only the account may enter, or adopts one that is ours or the account's.
func (a account) privateDir(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !os.IsExist(err) {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	uid, _ := ownerOf(info)
	// In a shared temporary directory a stranger may have been first.
	if !info.IsDir() || (uid != uint32(os.Geteuid()) && uid != a.uid) {
		return fmt.Errorf("%s belongs to somebody else", path)
	}
	if err := a.own(path); err != nil {
		return err
	}
	return os.Chmod(path, 0o700)
}

// mayReach tells, for another account than ours, which directory on the way to path shuts it out.
func (a account) mayReach(path string) error {
	if !a.other {
		return nil
	}
	for dir := path; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if !a.mayPass(info) {
			return fmt.Errorf("started by root, Postgres runs as %s, who may not enter %s (%s)", a.name, dir, info.Mode())
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

func (a account) mayPass(info fs.FileInfo) bool {
	uid, gid := ownerOf(info)
	switch mode := info.Mode(); {
	case uid == a.uid:
		return mode&0o100 != 0
	case gid == a.gid:
		return mode&0o010 != 0
	default:
		return mode&0o001 != 0
	}
}
