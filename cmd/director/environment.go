package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/lattice-director/director/internal/cli"
)

// environment holds the variables of the process. An empty one counts as not set, because compose files and shells
// write ${NAME:-} for that.
type environment map[string]string

func newEnvironment(environ []string) environment {
	e := environment{}
	for _, pair := range environ {
		if name, text, _ := strings.Cut(pair, "="); text != "" {
			e[name] = text
		}
	}
	return e
}

func (e environment) lookup(name string) (text string, ok bool) {
	text, ok = e[name]
	return text, ok
}

// gather joins all variables with the prefix: NAME=text,NAME=text, by name.
func (e environment) gather(prefix string) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(e)) {
		if strings.HasPrefix(name, prefix) {
			pairs = append(pairs, name+"="+e[name])
		}
	}
	return strings.Join(pairs, ",")
}

// stranger is a variable that looks like one of ours and is none.
type stranger struct{ name, meant string } // meant may be ""

// strangers finds variables that somebody believes in and nobody reads.
func (e environment) strangers() []stranger {
	known := knownVariables()
	var all []stranger
	for _, name := range slices.Sorted(maps.Keys(e)) {
		if strings.HasPrefix(name, "DIRECTOR_") && !slices.Contains(known, name) && !ofOthers(name) {
			all = append(all, stranger{name, closest(name, known)})
		}
	}
	return all
}

func knownVariables() []string {
	var names []string
	for _, s := range new(Config).settings() {
		names = append(append(names, s.variable()), s.aliases...)
	}
	return names
}

// ofOthers knows variables that are not settings: those of one mode each, those of internal/pglocal, db/dbtest and the
// examples, and those that Kubernetes sets in every pod beside a Service named "director".
func ofOthers(name string) bool {
	return strings.HasPrefix(name, modePrefix) && name != modePrefix ||
		name == "DIRECTOR_PG_BINDIR" || name == "DIRECTOR_TEST_PG" || name == "DIRECTOR_URL" ||
		strings.HasPrefix(name, "DIRECTOR_SERVICE_") || strings.HasPrefix(name, "DIRECTOR_PORT")
}

// closest is the known name that was probably meant, "" if none is near.
func closest(name string, known []string) string {
	short := strings.TrimPrefix(name, "DIRECTOR_")
	for _, k := range known {
		if len(short) >= 4 && strings.HasSuffix(k, "_"+short) {
			return k // a part of the name was left out
		}
	}
	return cli.Nearest(name, known)
}
