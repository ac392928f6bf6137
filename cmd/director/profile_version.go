package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/cli"
)

// namedVersion is a version of a profile, as NAME or NAME@VERSION names it.
type namedVersion struct {
	name   string
	number int // 0: the command says which
}

// parseVersion parses NAME or NAME@VERSION. Whether they exist, the store says.
func parseVersion(arg string) (v namedVersion, err error) {
	name, text, given := strings.Cut(arg, "@")
	// The command says which version it then means: the live one, the one before it, or the latest.
	if !given {
		return namedVersion{name: name}, nil
	}
	number, err := strconv.Atoi(text)
	if err != nil || number < 1 {
		return v, cli.Usage(fmt.Errorf("%q is no profile: it must be NAME or NAME@VERSION, such as ranked-5v5@3", arg))
	}
	return namedVersion{name, number}, nil
}

// parseUnversioned parses NAME. A version that the command would ignore is refused.
func parseUnversioned(arg string) (v namedVersion, err error) {
	if v, err = parseVersion(arg); err == nil && v.number > 0 {
		return v, cli.Usage(fmt.Errorf("%q names a version, but this changes the profile whatever its version: name it %s", arg, v.name))
	}
	return v, err
}

// versionDetails is the output of `profiles show`.
type versionDetails struct {
	Name      string     `json:"name"`
	Version   int        `json:"version"`
	State     string     `json:"state"` // live, shadow, retired or kept
	Author    string     `json:"author"`
	CreatedAt time.Time  `json:"created_at"`
	Reason    string     `json:"reason"`
	Document  string     `json:"document"`
	RetiredAt *time.Time `json:"retired_at"`
}

func detailsOf(v db.ProfileVersion) versionDetails {
	d := versionDetails{v.Name, v.Version, "kept", v.Author, v.CreatedAt, v.Reason, v.Document, v.RetiredAt}
	switch {
	// A retired profile keeps the version that was live last.
	case v.Version == v.LiveVersion && v.RetiredAt != nil:
		d.State = "retired"
	case v.Version == v.LiveVersion:
		d.State = "live"
	case v.Version == v.ShadowVersion:
		d.State = "shadow"
	}
	return d
}

// reasonPhrase is what follows the author, if the author gave a reason.
func reasonPhrase(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}
