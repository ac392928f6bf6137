package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/lattice-director/director/internal/cli"
)

// environment holds the variables of the process. An empty one counts as not set, because compose files and shells pass
// unset variables as empty with ${NAME:-}.
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

// osPairs returns all variables in the format of os.Environ.
func (e environment) osPairs() []string {
	all := make([]string, 0, len(e))
	for name, text := range e {
		all = append(all, name+"="+text)
	}
	return all
}

// joinPrefixed joins all variables with the prefix as NAME=text,NAME=text, sorted by name.
func (e environment) joinPrefixed(prefix string) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(e)) {
		if strings.HasPrefix(name, prefix) {
			pairs = append(pairs, name+"="+e[name])
		}
	}
	return strings.Join(pairs, ",")
}

// unknownVariable is a variable that begins with DIRECTOR_ and is no setting.
type unknownVariable struct{ name, suggestion string } // suggestion may be ""

// unknownVariables returns the variables that look like settings and have no effect.
func (e environment) unknownVariables() []unknownVariable {
	known := knownVariables()
	var removed []string
	for _, s := range removedSettings() {
		removed = append(removed, s.former.variableName())
	}
	var all []unknownVariable
	for _, name := range slices.Sorted(maps.Keys(e)) {
		if strings.HasPrefix(name, "DIRECTOR_") && !slices.Contains(slices.Concat(known, removed), name) &&
			!ofOthers(name) {
			all = append(all, unknownVariable{name, closestName(name, known)})
		}
	}
	return all
}

func knownVariables() []string {
	var names []string
	for _, s := range allSettings() {
		names = append(append(names, s.variableName()), s.aliases...)
	}
	return names
}

// ofOthers returns whether a DIRECTOR_ variable is no setting and still expected: a variable of one mode, one of
// pglocal, dbtest or the examples, or one that Kubernetes sets in the pods of a namespace with a Service named
// "director".
func ofOthers(name string) bool {
	return strings.HasPrefix(name, modePrefix) && name != modePrefix ||
		name == "DIRECTOR_PG_BINDIR" || name == "DIRECTOR_TEST_PG" || name == "DIRECTOR_URL" ||
		strings.HasPrefix(name, "DIRECTOR_SERVICE_") || strings.HasPrefix(name, "DIRECTOR_PORT")
}

// closestName returns the known name that was probably meant, or "" if none is similar.
func closestName(name string, known []string) string {
	short := strings.TrimPrefix(name, "DIRECTOR_")
	for _, k := range known {
		if len(short) >= 4 && strings.HasSuffix(k, "_"+short) {
			return k // a part of the name was left out
		}
	}
	return cli.Nearest(name, known)
}
