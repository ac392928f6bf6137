package nodetest

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// pinnedFiles are the package.json and the package-lock.json that pin packages.
type pinnedFiles struct{ manifest, lock []byte }

// The files of this package. The lock file has no addresses, so that npm asks whichever registry it is configured for;
// and none of the optional packages, which are native code.
var (
	//go:embed package.json
	ownManifest []byte
	//go:embed package-lock.json
	ownLock []byte
)

// readPinned reads the files of a folder.
func readPinned(dir string) (pinnedFiles, error) {
	manifest, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		return pinnedFiles{}, err
	}
	lock, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	return pinnedFiles{manifest, lock}, err
}

// installPackages returns the directory of the pinned packages. The first call on a machine installs them with npm.
func installPackages(ctx context.Context, pinned pinnedFiles) (string, error) {
	if _, err := exec.LookPath("node"); err != nil {
		return "", err
	}
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	digest := sha256.Sum256(slices.Concat(pinned.manifest, pinned.lock))
	dir := filepath.Join(cache, "node-"+hex.EncodeToString(digest[:6]))
	installed := filepath.Join(dir, "node_modules")
	if _, err := os.Stat(installed); err == nil {
		return installed, nil
	}
	return installed, fillCache(ctx, cache, dir, pinned)
}

// cacheDir returns where downloads are kept between runs, beside the Postgres of ops/install-postgres.sh.
func cacheDir() (string, error) {
	if os.Getuid() == 0 {
		return "/var/cache/director", nil
	}
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "director"), err
}

// fillCache installs the packages in another directory of the cache, which it renames to dir once it is complete. Other
// processes may do the same at the same time.
func fillCache(ctx context.Context, cache, dir string, pinned pinnedFiles) error {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(cache, "node-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(fresh) }()
	for name, content := range map[string][]byte{"package.json": pinned.manifest, "package-lock.json": pinned.lock} {
		if err := os.WriteFile(filepath.Join(fresh, name), content, 0o600); err != nil {
			return err
		}
	}
	if err := npmCI(ctx, fresh); err != nil {
		return err
	}
	// Where another process was faster, dir exists already, with the same packages.
	if err := os.Rename(fresh, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// npmCI installs what the package-lock.json of a directory pins.
func npmCI(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute) // else a registry that does not answer holds up all tests
	defer cancel()
	command := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w: %s", err, out)
	}
	return nil
}
