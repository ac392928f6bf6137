package pglocal

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
)

// EnvBinDir is the environment variable with the directory of initdb and postgres. If it is set, no other directory is
// searched.
const EnvBinDir = "DIRECTOR_PG_BINDIR"

// OldestMajor is the oldest major version of Postgres that the schema works on.
const OldestMajor = 15

// ErrNotInstalled means that this machine has no usable Postgres. Its text says what to install.
var ErrNotInstalled = errors.New(installHint(runtime.GOOS))

// Binaries is an installation of the Postgres server.
type Binaries struct {
	Dir   string // of initdb and postgres
	Major int    // 17 for version 17.4
}

// Find returns the installation to use: that of [EnvBinDir], else the newest in the directories of distributions,
// Homebrew and Postgres.app, else that on PATH. It ignores versions older than [OldestMajor]. Errors:
// [ErrNotInstalled]; the installation of EnvBinDir cannot be used.
func Find() (Binaries, error) {
	return findBinaries(func(Binaries) bool { return true })
}

// findBinaries returns the first installation for which suits returns true. It does not call suits for that of
// [EnvBinDir].
func findBinaries(suits func(Binaries) bool) (Binaries, error) {
	if dir := os.Getenv(EnvBinDir); dir != "" {
		b, err := inspectDir(dir)
		if err != nil {
			return b, fmt.Errorf("%s=%s: %w", EnvBinDir, dir, err)
		}
		return b, nil
	}
	err := ErrNotInstalled
	for _, dir := range candidateDirs() {
		b, bad := inspectDir(dir)
		// Kept as the reason if no other directory has an installation that suits.
		if bad != nil {
			err = fmt.Errorf("%w (%s: %w)", ErrNotInstalled, dir, bad)
			continue
		}
		if suits(b) {
			return b, nil
		}
	}
	return Binaries{}, err
}

// candidateDirs returns the directories with an initdb, in the order in which to try them.
func candidateDirs() []string {
	var dirs []string
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",            // Debian, Ubuntu
		"/usr/pgsql-*/bin",                     // the Postgres project's RPMs
		"/usr/libexec/postgresql*",             // Alpine
		"/opt/homebrew/opt/postgresql@*/bin",   // Homebrew on Apple silicon
		"/usr/local/opt/postgresql@*/bin",      // Homebrew on Intel
		"/home/linuxbrew/.linuxbrew/opt/*/bin", // Homebrew on Linux
		"/Applications/Postgres.app/Contents/Versions/*/bin",
	} {
		found, _ := filepath.Glob(filepath.Join(pattern, "initdb")) // the patterns are well-formed
		slices.SortFunc(found, func(a, b string) int { return versionIn(b) - versionIn(a) })
		for _, initdb := range found {
			dirs = append(dirs, filepath.Dir(initdb))
		}
	}
	if initdb, err := exec.LookPath("initdb"); err == nil {
		dirs = append(dirs, filepath.Dir(initdb))
	}
	return dirs
}

var digits = regexp.MustCompile(`\d+`)

// versionIn returns the last number in the path, which is the major version in all known directory layouts.
func versionIn(path string) int {
	all := digits.FindAllString(path, -1)
	if len(all) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(all[len(all)-1]) // digits only; a number too large for an int is not a version
	return n
}

var versionLine = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// inspectDir runs the postgres in dir to get its version.
func inspectDir(dir string) (Binaries, error) {
	b := Binaries{Dir: dir}
	if _, err := os.Stat(b.programPath("initdb")); err != nil {
		return b, errors.New("holds no initdb")
	}
	out, err := exec.Command(b.programPath("postgres"), "--version").Output()
	if err != nil {
		return b, fmt.Errorf("postgres does not run: %w", err)
	}
	match := versionLine.FindSubmatch(out)
	if match == nil {
		return b, fmt.Errorf("postgres --version printed %q", out)
	}
	if b.Major, err = strconv.Atoi(string(match[1])); err != nil || b.Major < OldestMajor {
		return b, fmt.Errorf("this is Postgres %s, %d or newer is needed", match[1], OldestMajor)
	}
	return b, nil
}

func (b Binaries) programPath(program string) string { return filepath.Join(b.Dir, program) }

func installHint(goos string) string {
	install := "install it with the system's package manager (apt-get install postgresql, dnf install postgresql-server, " +
		"apk add postgresql, pacman -S postgresql)"
	switch goos {
	case "darwin":
		install = "install it (brew install postgresql@17, or Postgres.app)"
	case "windows":
		install = "start one (for example in Docker or WSL)"
	}
	return "no Postgres found on this machine: " + install + ", or set DATABASE_URL to the address of a server, or " +
		EnvBinDir + " to the directory that holds initdb and postgres"
}
