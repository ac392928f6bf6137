package process

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lattice-director/director/provider"
)

// ownVariables are what the director sets for each server.
var ownVariables = []string{"LATTICE_*", "ARBITRIUM_*", "DIRECTOR_URL", "FLEET_TOKEN", "LIGHTYEAR_PRIVATE_KEY",
	"NATS_HOST", "NATS_USER", "NATS_PASSWORD", "NATS_INSECURE"}

// checkVariables refuses variables that nobody has allowed. It has no list of dangerous ones, because that would never
// be complete: beside those of the loader (LD_PRELOAD) there are those of shells (BASH_ENV), interpreters (PYTHONPATH,
// NODE_OPTIONS) and libraries (OPENSSL_CONF).
func (p *Provider) checkVariables(env provider.Env) error {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !matchesAny(name, ownVariables) && !matchesAny(name, p.config.Variables) {
			return fmt.Errorf("env: %s is not allowed on this host: it allows %s", name,
				allowedText(p.config.Variables))
		}
	}
	return nil
}

// matchesAny reports whether a list has a name, or its beginning and an asterisk.
func matchesAny(name string, list []string) bool {
	return slices.ContainsFunc(list, func(allowed string) bool {
		beginning, isPrefix := strings.CutSuffix(allowed, "*")
		return name == allowed || isPrefix && strings.HasPrefix(name, beginning)
	})
}

func allowedText(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}
