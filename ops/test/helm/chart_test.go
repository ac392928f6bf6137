// Package helm_test renders the Helm chart with many values, and checks every object with the API server's own code:
// its strict decoder, its validation, and the evaluator of the Pod Security Standards. It is a module of its own,
// because the product does not need Kubernetes or Helm.
package helm_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// proxy and agent are containers of the values: a proxy to the database, and a collector of logs.
const (
	restricted = `securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}, resources: {requests: {cpu: 10m}, limits: {memory: 64Mi}}`
	proxy      = `{name: proxy, image: "registry.example.com/proxy:1", restartPolicy: Always, ` + restricted + `}`
	agent      = `{name: agent, image: "registry.example.com/agent:1", ` + restricted + `}`
)

// everything turns on all that the chart can render.
const everything = `
image: {repository: registry.example.com/lattice-director, digest: "sha256:` + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" + `"}
imagePullSecrets: [registry]
existingSecret: director-secrets
secretEnv:
  DIRECTOR_OPS_TOKENS: {}
  DATABASE_URL_DIRECT: {secret: database, key: direct}
  DIRECTOR_REALTIME_MASTER_SECRET: {secret: lobby, key: master}
  DIRECTOR_REALTIME_INTERNAL_TOKEN: {secret: lobby, key: control}
  DIRECTOR_ORCHESTRATOR_ADMIN_KEYS: {}
settings: {DIRECTOR_AUTH_JWKS: "https://login.example.com/jwks", DIRECTOR_MAX_CONNS: 24, DIRECTOR_POOLER: pgbouncer, DIRECTOR_TLS_CERT: /tls/tls.crt, DIRECTOR_TLS_KEY: /tls/tls.key}
listeners:
  api: {service: {type: LoadBalancer, annotations: {a: b}}, ingress: {enabled: true, className: nginx, host: director.example.com, tlsSecret: director-tls, annotations: {a: b}},
        route: {enabled: true, parentRefs: [{name: public, namespace: gateways, sectionName: https}], hostnames: [director.example.com], annotations: {a: b}}}
  grpc: {enabled: true, ingress: {enabled: true, host: grpc.example.com}, route: {enabled: true, parentRefs: [{name: public}]}}
  orchestrator: {enabled: true, ingress: {enabled: true, host: rivalis.example.com}}
  bevygapNats: {enabled: true, service: {type: LoadBalancer}}
  realtime: {enabled: true, ingress: {enabled: true, host: lobby.example.com}}
  realtimeControl: {enabled: true, from: [{podSelector: {matchLabels: {app: backend}}}]}
  console: {enabled: true, ingress: {enabled: true, host: console.example.com}}
replicas:
  autoscaling: {enabled: true}
  nodeSelector: {disk: ssd}
  tolerations: [{key: games, operator: Exists}]
  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a]}]}]}}}
  priorityClassName: high
  annotations: {a: b}
  labels: {team: games}
  initContainers: [` + proxy + `]
  extraContainers: [` + agent + `]
workers: {settings: {DIRECTOR_PROVIDERS: agones}, labels: {team: games}, initContainers: [` + proxy + `], extraContainers: [` + agent + `]}
migration:
  serviceAccountName: migrations
  automountToken: true
  extraEnv: [{name: PGSSLROOTCERT, value: /ca/ca.crt}]
  extraEnvFrom: [{configMapRef: {name: extra}}]
  extraVolumes: [{name: ca, configMap: {name: ca}}]
  extraVolumeMounts: [{name: ca, mountPath: /ca}]
  initContainers: [` + proxy + `]
  extraContainers: [` + agent + `]
  annotations: {linkerd.io/inject: disabled}
  labels: {team: games}
  nodeSelector: {disk: ssd}
  tolerations: [{key: games, operator: Exists}]
  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a]}]}]}}}
  priorityClassName: high
rbac: {agones: {enabled: true, namespace: fleets}}
grafanaDashboards: {enabled: true, annotations: {grafana_folder: Games}}
extraEnv: [{name: OTEL_RESOURCE_ATTRIBUTES, value: team=games}, {name: DIRECTOR_EDGEGAP_TOKEN, valueFrom: {secretKeyRef: {name: edgegap, key: token}}}]
extraEnvFrom: [{configMapRef: {name: extra}}, {secretRef: {name: more, optional: true}, prefix: MORE_}]
serviceAccount: {annotations: {a: b}, automountToken: true}
networkPolicy: {extraEgress: [{to: [{namespaceSelector: {}}], ports: [{port: 4318}]}]}
serviceMonitor: {enabled: true, labels: {release: prometheus}}
prometheusRule: {enabled: true, labels: {release: prometheus}}
extraVolumes: [{name: tls, secret: {secretName: director-tls}}]
extraVolumeMounts: [{name: tls, mountPath: /tls, readOnly: true}]
`

// variants are sets of values that Kubernetes must accept.
var variants = map[string]string{
	"defaults":             "",
	"everything":           everything,
	"no workers":           "workers: {enabled: false}",
	"no migration":         "migration: {enabled: false}",
	"no network policy":    "networkPolicy: {enabled: false}",
	"no disruption budget": "replicas: {podDisruptionBudget: {enabled: false}}\nworkers: {podDisruptionBudget: {enabled: false}}",
	"autoscaling":          "replicas: {autoscaling: {enabled: true, minReplicas: 3, maxReplicas: 9}}",
	"own account":          "serviceAccount: {create: false, name: games}",
	"default account":      "serviceAccount: {create: false}",
	"no spread":            "topologyKeys: []",
	"no egress ports":      "networkPolicy: {egressPorts: []}",
	"long name":            "fullnameOverride: " + strings.Repeat("a", 60) + "\nlisteners: {realtimeControl: {enabled: true}}\nsecretEnv: {DIRECTOR_REALTIME_MASTER_SECRET: {}, DIRECTOR_REALTIME_INTERNAL_TOKEN: {}}",
	"console by OIDC":      "listeners: {console: {enabled: true}}\nsettings: {DIRECTOR_CONSOLE_OIDC_ISSUER: 'https://login.example'}",
	"name with release":    "nameOverride: game",
	"no fleet token":       "secretEnv: {DIRECTOR_FLEET_TOKEN: null}",
	"one replica":          "replicas: {count: 1}\nworkers: {count: 1}",
	"instant stop":         "drainDelay: 0\nshutdownTimeout: 1",
	"node ports":           "listeners: {api: {service: {type: NodePort}}}",
	"subchart":             "global: {anything: true}",
	"no tests":             "tests: {enabled: false}",
	"dashboards":           "grafanaDashboards: {enabled: true}",
	"agones here":          "rbac: {agones: {enabled: true}}\nserviceAccount: {automountToken: true}",
	"own behaviour":        "replicas: {autoscaling: {enabled: true, behavior: {scaleDown: {policies: [{type: Pods, value: 2, periodSeconds: 60}]}, scaleUp: null}}}",
	"usual behaviour":      "replicas: {autoscaling: {enabled: true, behavior: null}}",
	"route by name":        "listeners: {api: {route: {enabled: true, parentRefs: [{name: public}]}}}",
}

// Pins a chart that renders only with the values that its author tried.
func TestKubernetesAcceptsEveryVariant(t *testing.T) {
	t.Parallel()
	for name, values := range variants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := render(t, values)
			require.NotEmpty(t, r.objects)
			require.Contains(t, r.notes, "namespace games")
			requireConsistent(t, r)
		})
	}
}

// Pins a manifest for kubectl that the API server refuses, or that is less careful than the chart.
func TestKubernetesAcceptsThePlainManifests(t *testing.T) {
	t.Parallel()
	var plain rendered
	for _, name := range []string{"director.yaml", "migrate.yaml"} {
		plain.objects = append(plain.objects, manifest(t, name)...)
	}
	requireConsistent(t, plain)
	charted, written := render(t, "").pods()["game-lattice-director"], plain.pods()["director"]
	require.Equal(t, charted.Spec.TerminationGracePeriodSeconds, written.Spec.TerminationGracePeriodSeconds)
	require.Equal(t, probes(charted), probes(written))
	require.Equal(t, charted.Spec.Containers[0].Resources, written.Spec.Containers[0].Resources)
}

// Pins a game server whose sidecar starts after it, or ends before it: then nobody deregisters the server.
func TestKubernetesAcceptsTheGameServerWithASidecar(t *testing.T) {
	t.Parallel()
	game := rendered{objects: manifest(t, "game-server.yaml")}.pods()["arena"]
	sidecar := game.Spec.InitContainers[0]
	require.Equal(t, corev1.ContainerRestartPolicyAlways, *sidecar.RestartPolicy, "so Kubernetes knows a sidecar")
	require.Equal(t, []string{"sidecar"}, sidecar.Args)
	require.NotNil(t, sidecar.Env[0].ValueFrom.SecretKeyRef)
	require.True(t, *sidecar.SecurityContext.ReadOnlyRootFilesystem)
	require.Greater(t, *game.Spec.TerminationGracePeriodSeconds, int64(30), "players may play on for --sidecar-grace")
}

// manifest returns the objects of a file of ops/kubernetes, which Kubernetes must accept.
func manifest(t *testing.T, name string) []runtime.Object {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../kubernetes", name))
	require.NoError(t, err)
	return accepted(t, name, strings.ReplaceAll(string(text), "VERSION", "0.1.0"))
}

func probes(pod corev1.PodTemplateSpec) []*corev1.Probe {
	scheme := func(p *corev1.Probe) *corev1.Probe {
		p = p.DeepCopy()
		if p != nil && p.HTTPGet != nil {
			p.HTTPGet.Scheme = "" // the default is HTTP
		}
		return p
	}
	c := pod.Spec.Containers[0]
	return []*corev1.Probe{scheme(c.ReadinessProbe), scheme(c.LivenessProbe), scheme(c.StartupProbe)}
}
