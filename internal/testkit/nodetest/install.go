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

// Both files pin the packages. The lock file has no addresses, so that npm asks whichever registry it is configured
// for; and none of the optional packages, which are native code.
var (
	//go:embed package.json
	manifest []byte
	//go:embed package-lock.json
	lock []byte
)

// installPackages returns the directory of the pinned packages. The first call on a machine installs them with npm.
func installPackages(ctx context.Context, manifest, lock []byte) (string, error) {
	if _, err := exec.LookPath("node"); err != nil {
		return "", err
	}
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	digest := sha256.Sum256(slices.Concat(manifest, lock))
	dir := filepath.Join(cache, "node-"+hex.EncodeToString(digest[:6]))
	installed := filepath.Join(dir, "node_modules")
	if _, err := os.Stat(installed); err == nil {
		return installed, nil
	}
	return installed, fillCache(ctx, cache, dir, manifest, lock)
}

// cacheDir returns where downloads are kept between runs, beside the Postgres of ops/install-postgres.sh.
func cacheDir() (string, error) {
	if os.Getuid() == 0 {
		return "/var/cache/director", nil
	}
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "director"), err
}

// fillCache installs the packages beside dir, which appears once it is complete. Other processes may do the same.
func fillCache(ctx context.Context, cache, dir string, manifest, lock []byte) error {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(cache, "node-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(fresh) }()
	for name, content := range map[string][]byte{"package.json": manifest, "package-lock.json": lock} {
		if err := os.WriteFile(filepath.Join(fresh, name), content, 0o600); err != nil {
			return err
		}
	}
	if err := npmCI(ctx, fresh); err != nil {
		return err
	}
	// It exists where another process was faster, with the same packages.
	if err := os.Rename(fresh, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func npmCI(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w: %s", err, out)
	}
	return nil
}
