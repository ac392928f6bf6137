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
	isOtherUser bool // not the user of this process; only then uid and gid are set
	uid, gid    uint32
	userName    string
}

// accountFor returns the user that runs Postgres: that of this process, unless it is root, which Postgres refuses.
func accountFor(data string) (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	// Postgres refuses a data directory that another user owns.
	if info, err := os.Stat(data); err == nil {
		if uid, gid := ownerOf(info); uid != 0 {
			return account{isOtherUser: true, uid: uid, gid: gid, userName: "user " + strconv.Itoa(int(uid))}, nil
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
	return account{isOtherUser: true, uid: uint32(uid), gid: uint32(gid), userName: "user " + found.Username}, nil
}

// chown makes the account the owner of path.
func (a account) chown(path string) error {
	if !a.isOtherUser {
		return nil
	}
	return os.Lchown(path, int(a.uid), int(a.gid))
}

// privateDir makes a directory that only the account may enter. An existing one must belong to this process's user or
// to the account.
func (a account) privateDir(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !os.IsExist(err) {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	uid, _ := ownerOf(info)
	// In a shared temporary directory another user may have made it.
	if !info.IsDir() || (uid != uint32(os.Geteuid()) && uid != a.uid) {
		return fmt.Errorf("%s belongs to another user", path)
	}
	if err := a.chown(path); err != nil {
		return err
	}
	return os.Chmod(path, 0o700)
}

// checkReach returns an error that names the first directory on the way to path that the account may not enter. It does
// not check the user of this process.
func (a account) checkReach(path string) error {
	if !a.isOtherUser {
		return nil
	}
	for dir := path; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if !a.mayEnter(info) {
			return fmt.Errorf("started by root, Postgres runs as %s, who may not enter %s (%s)", a.userName, dir,
				info.Mode())
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

func (a account) mayEnter(info fs.FileInfo) bool {
	uid, gid := ownerOf(info)
	// As the kernel decides: the first class that fits counts, even if a later one would allow more.
	switch mode := info.Mode(); {
	case uid == a.uid:
		return mode&0o100 != 0
	case gid == a.gid:
		return mode&0o010 != 0
	default:
		return mode&0o001 != 0
	}
}
