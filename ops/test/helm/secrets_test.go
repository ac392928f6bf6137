package helm_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

var secretName = regexp.MustCompile(`DATABASE_URL|TOKENS?$|_KEYS?$|SECRETS?$|KEY_ENCRYPTION`)

// requireNoSecretValues requires that variables that hold secrets come from Secrets.
func requireNoSecretValues(t *testing.T, r rendered) {
	t.Helper()
	for name, pod := range r.pods() {
		for _, v := range pod.Spec.Containers[0].Env {
			if secretName.MatchString(v.Name) {
				require.Empty(t, v.Value, "%s: %s", name, v.Name)
				require.NotNil(t, v.ValueFrom.SecretKeyRef, "%s: %s", name, v.Name)
			}
		}
	}
	for _, c := range of[*corev1.ConfigMap](r) {
		for name := range c.Data {
			if !strings.HasPrefix(name, "DIRECTOR_TLS_") { // files
				require.False(t, secretName.MatchString(name), name)
			}
		}
	}
}

// Pins a secret that is read from another Secret or key than its owner wrote, and a migration that sees more than the
// database.
func TestSecretsAreReadWhereTheyAre(t *testing.T) {
	t.Parallel()
	r := render(t, everything)
	require.Empty(t, of[*corev1.Secret](r), "the chart makes no Secret")
	for _, name := range []string{"game-lattice-director", "game-lattice-director-worker"} {
		require.Equal(t, map[string]string{
			"DATABASE_URL": "director-secrets/DATABASE_URL", "DATABASE_URL_DIRECT": "database/direct",
			"DIRECTOR_KEY_ENCRYPTION_KEY": "director-secrets/DIRECTOR_KEY_ENCRYPTION_KEY", "DIRECTOR_FLEET_TOKEN": "director-secrets/DIRECTOR_FLEET_TOKEN",
			"DIRECTOR_OPS_TOKENS": "director-secrets/DIRECTOR_OPS_TOKENS", "DIRECTOR_REALTIME_MASTER_SECRET": "lobby/master", "DIRECTOR_REALTIME_INTERNAL_TOKEN": "lobby/control",
			"DIRECTOR_ORCHESTRATOR_ADMIN_KEYS": "director-secrets/DIRECTOR_ORCHESTRATOR_ADMIN_KEYS", "DIRECTOR_EDGEGAP_TOKEN": "edgegap/token",
		}, secretsOf(r.pods()[name]), name)
	}
	migration := r.pods()["game-lattice-director-migrate"]
	require.Equal(t, map[string]string{"DATABASE_URL": "director-secrets/DATABASE_URL", "DATABASE_URL_DIRECT": "database/direct"}, secretsOf(migration))
	require.Equal(t, "pgbouncer", variables(migration)["DIRECTOR_POOLER"].Value)
}

func secretsOf(pod corev1.PodTemplateSpec) map[string]string {
	found := map[string]string{}
	for name, v := range variables(pod) {
		if v.ValueFrom != nil {
			found[name] = v.ValueFrom.SecretKeyRef.Name + "/" + v.ValueFrom.SecretKeyRef.Key
		}
	}
	return found
}

// Pins a variable that is removed with null and rendered all the same, so that pods wait for a key that no Secret has.
func TestAVariableCanBeRemoved(t *testing.T) {
	t.Parallel()
	r := render(t, "secretEnv: {DIRECTOR_FLEET_TOKEN: null}")
	require.NotContains(t, variables(r.pods()["game-lattice-director"]), "DIRECTOR_FLEET_TOKEN")
}
