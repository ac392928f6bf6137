package upgrade

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// release is a version of the director in a repository's history.
type release struct {
	version string // X.Y.Z
	commit  string
	isHead  bool // the working tree's own commit is that release, and there is none before it
}

// repository is a git repository, named by any directory in it.
type repository string

// git runs a command of git, and returns what it prints.
func (r repository) git(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", string(r)}, args...)...).Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		err = fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(failed.Stderr)))
	}
	return strings.TrimSpace(string(out)), err
}

// heading finds the versions of a CHANGELOG.md.
var heading = regexp.MustCompile(`(?m)^## \[(\d+\.\d+\.\d+)\]`)

const fetchHint = "the upgrade test builds the last release from the history: run 'git fetch --tags --unshallow' (or clone without --depth)"

// lastRelease returns the release before HEAD: of the versions in HEAD's CHANGELOG.md the newest whose commit is not
// HEAD itself, or HEAD if it is the first release. The commit is that of the tag; in a clone without tags it is the one
// that added the version's heading.
func (r repository) lastRelease(ctx context.Context) (last release, err error) {
	head, err := r.git(ctx, "rev-parse", "HEAD")
	if err != nil {
		return release{}, fmt.Errorf("%w: %s", err, fetchHint)
	}
	changelog, err := r.git(ctx, "show", "HEAD:./CHANGELOG.md")
	if err != nil {
		return release{}, err
	}
	for _, m := range heading.FindAllStringSubmatch(changelog, -1) {
		commit, err := r.commitOf(ctx, m[1])
		if err != nil {
			return release{}, err
		}
		last = release{version: m[1], commit: commit, isHead: commit == head}
		if !last.isHead {
			return last, nil
		}
	}
	if last.version == "" {
		return release{}, errors.New("CHANGELOG.md has no released version")
	}
	return last, nil
}

// commitOf returns the commit of a version: that of its tag, or else the one that added its heading.
func (r repository) commitOf(ctx context.Context, version string) (string, error) {
	if commit, err := r.git(ctx, "rev-parse", "--verify", "--quiet", "refs/tags/v"+version+"^{commit}"); err == nil {
		return commit, nil
	}
	// The oldest commit of a shallow clone seems to add every line.
	if shallow, err := r.git(ctx, "rev-parse", "--is-shallow-repository"); err != nil || shallow == "true" {
		return "", errors.Join(fmt.Errorf("release %s is not in this shallow clone: %s", version, fetchHint), err)
	}
	found, err := r.git(ctx, "log", "--format=%H", "--reverse", "-S## ["+version+"]", "HEAD", "--", "CHANGELOG.md")
	if err != nil {
		return "", err
	}
	first, _, _ := strings.Cut(found, "\n")
	if first == "" {
		return "", fmt.Errorf("no commit adds the heading of release %s to CHANGELOG.md: %s", version, fetchHint)
	}
	return first, nil
}

// binary returns the director of a release, and builds it unless this checkout has it: .bin keeps it under its commit.
func (r repository) binary(ctx context.Context, last release) (string, error) {
	bin := filepath.Join(string(r), ".bin", "releases", "director-"+last.commit)
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	if err := os.MkdirAll(filepath.Dir(bin), 0o755); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "director-release-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if _, err := r.git(ctx, "clone", "--quiet", "--shared", "--no-checkout", ".", dir); err != nil {
		return "", err
	}
	if _, err := repository(dir).git(ctx, "checkout", "--quiet", last.commit); err != nil {
		return "", err
	}
	// With the flags of the other tests' builds, so that all dependencies come from Go's cache.
	fresh := fmt.Sprint(bin, ".", os.Getpid())
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-ldflags", "-X main.version=v"+last.version,
		"-o", fresh, "./cmd/director")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build release %s: %w: %s", last.version, err, out)
	}
	return bin, os.Rename(fresh, bin) // atomic, since another run may do the same
}

// buildLastRelease returns the binary of the last release, which it builds once in a test process.
var buildLastRelease = sync.OnceValues(func() (bin string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	top, err := repository(".").git(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, fetchHint)
	}
	last, err := repository(top).lastRelease(ctx)
	if err != nil {
		return "", err
	}
	note := ""
	if last.isHead {
		note = ", which is HEAD: both sides run the same version"
	}
	fmt.Fprintf(os.Stderr, "upgrade: the last release is v%s, commit %.12s%s\n", last.version, last.commit, note)
	return repository(top).binary(ctx, last)
})
