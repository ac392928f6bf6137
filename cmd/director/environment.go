package main

import (
	"maps"
	"slices"
	"strings"
)

// environment holds the variables of the process. An empty one counts as not set, because compose files and shells pass
// unset variables as empty with ${NAME:-}.
type environment map[string]string

// newEnvironment takes pairs in the format of os.Environ. Of a name that occurs twice, the last text that is not empty
// counts.
func newEnvironment(environ []string) environment {
	e := environment{}
	for _, pair := range environ {
		if name, text, _ := strings.Cut(pair, "="); text != "" {
			e[name] = text
		}
	}
	return e
}

// lookup returns the text of a variable, and whether it is set. An empty one is not: see environment.
func (e environment) lookup(name string) (text string, ok bool) {
	text, ok = e[name]
	return text, ok
}

// osPairs returns the variables that are set in the format of os.Environ, in no order.
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
