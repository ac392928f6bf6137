package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/lattice-director/director/internal/base/nearest"
)

// unknownVariable is a variable that begins with DIRECTOR_ and is no setting.
type unknownVariable struct{ name, suggestion string } // suggestion may be ""

// unknownVariables returns the variables that look like settings and have no effect. They are no error: another
// release, or a tool beside the director, may read them.
func (e environment) unknownVariables() []unknownVariable {
	known := knownVariables()
	// Removed settings have a warning of their own, which says what holds instead.
	var removed []string
	for _, s := range removedSettings() {
		removed = append(removed, s.former.variableName())
	}
	var all []unknownVariable
	for _, name := range slices.Sorted(maps.Keys(e)) {
		// Only with our prefix: other programs of the machine have the other variables.
		if strings.HasPrefix(name, "DIRECTOR_") && !slices.Contains(slices.Concat(known, removed), name) &&
			!isReadByOthers(name) {
			all = append(all, unknownVariable{name, closestName(name, known)})
		}
	}
	return all
}

// knownVariables returns the variables of all settings of all commands: one file of variables often serves several.
func knownVariables() []string {
	var names []string
	for _, s := range allSettings() {
		names = append(append(names, s.variableName()), s.aliases...)
	}
	return names
}

// isReadByOthers reports whether a DIRECTOR_ variable is no setting and still expected: a variable of one mode, one of
// pglocal, dbtest or the examples, or one that Kubernetes sets in the pods of a namespace with a Service named
// "director".
func isReadByOthers(name string) bool {
	return strings.HasPrefix(name, modePrefix) && name != modePrefix ||
		name == "DIRECTOR_PG_BINDIR" || name == "DIRECTOR_TEST_PG" || name == "DIRECTOR_URL" ||
		strings.HasPrefix(name, "DIRECTOR_SERVICE_") || strings.HasPrefix(name, "DIRECTOR_PORT")
}

// closestName returns the known name that was probably meant, or "" if none is similar.
func closestName(name string, known []string) string {
	short := strings.TrimPrefix(name, "DIRECTOR_")
	for _, k := range known {
		// Shorter ends, such as URL, belong to many settings.
		if len(short) >= 4 && strings.HasSuffix(k, "_"+short) {
			return k // a part of the name was left out
		}
	}
	return nearest.Word(name, known)
}

// variablesWithoutEffect returns the variables with a prefix that no setting reads, sorted.
func (e environment) variablesWithoutEffect(prefix string) []string {
	known := map[string]bool{}
	for _, s := range allSettings() {
		for _, name := range slices.Concat(s.aliases, s.upstream.variableNames) {
			known[name] = true
		}
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(e)),
		func(name string) bool { return known[name] || !strings.HasPrefix(name, prefix) })
}
