package helm_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Pins a value with a typing error that is ignored, or that fails later, in the cluster, without the name of its field.
func TestBadValuesAreRefusedByName(t *testing.T) {
	t.Parallel()
	for values, named := range map[string]string{
		"replica: {count: 3}":                                                            "replica",
		"replicas: {count: three}":                                                       "/replicas/count",
		"replicas: {count: 0}":                                                           "/replicas/count",
		"replicas: {replicas: 3}":                                                        "/replicas",
		"existingSecret: ''":                                                             "/existingSecret",
		"existingSecret: {name: director}":                                               "/existingSecret",
		"image: {repository: ''}":                                                        "/image/repository",
		"image: {digest: abc}":                                                           "/image/digest",
		"image: {pullPolicy: Sometimes}":                                                 "/image/pullPolicy",
		"listeners: {api: {port: 80}}":                                                   "/listeners/api/port",
		"listeners: {api: {enabled: false}}":                                             "/listeners/api",
		"listeners: {lobby: {enabled: true}}":                                            "/listeners",
		"listeners: {realtimeControl: {ingress: {enabled: true}}}":                       "/listeners/realtimeControl",
		"listeners: {metrics: {ingress: {enabled: true}}}":                               "/listeners/metrics",
		"listeners: {api: {ingress: {enabled: true}}}":                                   "/listeners/api/ingress/host",
		"listeners: {api: {from: [everybody]}}":                                          "/listeners/api/from/0",
		"settings: {DIRECTOR_FLEET_TOKEN: a-secret-in-values}":                           "/settings/DIRECTOR_FLEET_TOKEN",
		"settings: {DATABASE_URL: 'postgres://u:p@h/d'}":                                 "/settings/DATABASE_URL",
		"settings: {DIRECTOR_ADDR: ':80'}":                                               "/settings/DIRECTOR_ADDR",
		"settings: {DIRECTOR_DRAIN_DELAY: 5s}":                                           "/settings/DIRECTOR_DRAIN_DELAY",
		"settings: {DIRECTOR_REALTIME_ROOMS: {town: {}}}":                                "/settings/DIRECTOR_REALTIME_ROOMS",
		"workers: {settings: {DIRECTOR_EDGEGAP_TOKEN: secret-in-values}}":                "/workers/settings/DIRECTOR_EDGEGAP_TOKEN",
		"secretEnv: {DIRECTOR_OPS_TOKENS: the-secret-itself}":                            "/secretEnv/DIRECTOR_OPS_TOKENS",
		"secretEnv: {DIRECTOR_OPS_TOKENS: {value: the-secret-itself}}":                   "/secretEnv/DIRECTOR_OPS_TOKENS",
		"secretEnv: {DATABASE_URL: null}":                                                "/secretEnv",
		"listeners: {console: {enabled: true}}":                                          "listeners.console is enabled and needs secretEnv.DIRECTOR_OPS_TOKENS",
		"listeners: {orchestrator: {enabled: true}}":                                     "secretEnv.DIRECTOR_ORCHESTRATOR_ADMIN_KEYS",
		"listeners: {realtime: {enabled: true}}":                                         "secretEnv.DIRECTOR_REALTIME_MASTER_SECRET",
		"listeners: {realtimeControl: {enabled: true}}":                                  "secretEnv.DIRECTOR_REALTIME_INTERNAL_TOKEN",
		"drainDelay: 10s":                                                                "/drainDelay",
		"podSecurityContext: {runAsNonRoot: false}":                                      "/podSecurityContext/runAsNonRoot",
		"podSecurityContext: {seccompProfile: null}":                                     "/podSecurityContext",
		"networkPolicy: {egressPorts: [postgres]}":                                       "/networkPolicy/egressPorts/0",
		"serviceMonitor: {interval: fast}":                                               "/serviceMonitor/interval",
		"replicas: {podDisruptionBudget: {maxUnavailable: 0}}":                           "/replicas/podDisruptionBudget/maxUnavailable",
		"workers: {resources: {request: {cpu: 1}}}":                                      "/workers/resources",
		"extraEnv: [{value: a}]":                                                         "/extraEnv/0",
		"extraEnv: [{name: A}]":                                                          "/extraEnv/0",
		"extraEnv: [{name: DIRECTOR_FLEET_TOKEN, value: x-in-values}]":                   "/extraEnv/0/name",
		"extraEnv: [{name: DIRECTOR_ADDR, value: ':1'}]":                                 "/extraEnv/0/name",
		"migration: {extraEnv: [{name: DATABASE_URL, value: x-in-values}]}":              "/migration/extraEnv/0/name",
		"extraEnv: [{name: DATABASE_URL, valueFrom: {secretKeyRef: {name: a, key: b}}}]": "extraEnv has DATABASE_URL, which secretEnv has as well",
		"extraEnvFrom: [{secretRef: {name: a}, configMapRef: {name: b}}]":                "/extraEnvFrom/0",
		"listeners: {api: {route: {enabled: true}}}":                                     "/listeners/api/route/parentRefs",
		"listeners: {grpc: {enabled: true, route: {path: /}}}":                           "/listeners/grpc/route",
		"listeners: {metrics: {route: {enabled: true}}}":                                 "/listeners/metrics",
		"replicas: {initContainers: [{name: a}]}":                                        "/replicas/initContainers/0",
		"replicas: {autoscaling: {behavior: {up: {}}}}":                                  "/replicas/autoscaling/behavior",
		"migration: {tolerations: {key: games}}":                                         "/migration/tolerations",
		"rbac: {agones: {enabled: true}}":                                                "rbac.agones.enabled needs serviceAccount.automountToken",
		"grafanaDashboards: {labels: {a: 1}}":                                            "/grafanaDashboards/labels/a",
	} {
		t.Run(values, func(t *testing.T) {
			t.Parallel()
			_, err := renderValues(t, values)
			require.ErrorContains(t, err, named)
			require.NotContains(t, err.Error(), "the-secret-itself")
			require.NotContains(t, err.Error(), "-in-values")
		})
	}
}
