package helm_test

import (
	"maps"
	"os"
	"slices"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"helm.sh/helm/v4/pkg/chart/v2/lint"
)

// Pins a release whose replicas start on a schema that they do not know, and a hook that needs what is created after
// it.
func TestTheMigrationRunsBeforeEverything(t *testing.T) {
	t.Parallel()
	r := render(t, "serviceAccount: {create: true, name: games}")
	job := named[*batchv1.Job](t, r, "game-lattice-director-migrate")
	require.Equal(t, "pre-install,pre-upgrade", job.Annotations["helm.sh/hook"])
	require.Contains(t, job.Annotations["helm.sh/hook-delete-policy"], "before-hook-creation", "a Job cannot be changed")
	for name, args := range map[string][]string{
		"game-lattice-director": {"serve"}, "game-lattice-director-worker": {"work"}, "game-lattice-director-migrate": {"migrate", "up"},
	} {
		require.Equal(t, args, r.pods()[name].Spec.Containers[0].Args, name)
	}
	require.Empty(t, job.Spec.Template.Spec.ServiceAccountName, "it is created after the hook")
	require.Empty(t, job.Spec.Template.Spec.Containers[0].EnvFrom, "the ConfigMap is created after the hook")
	policy := named[*networkingv1.NetworkPolicy](t, r, "game-lattice-director-migration")
	require.Less(t, policy.Annotations["helm.sh/hook-weight"], job.Annotations["helm.sh/hook-weight"])
	for _, o := range r.objects {
		if o != runtime.Object(job) && o != runtime.Object(policy) {
			require.NotContains(t, meta(o).GetAnnotations(), "helm.sh/hook", meta(o).GetName())
		}
	}
}

// Pins a replica that is killed while it still serves calls.
func TestTheGracePeriodExceedsDrainAndShutdown(t *testing.T) {
	t.Parallel()
	r := render(t, "drainDelay: 30\nshutdownTimeout: 60")
	data := named[*corev1.ConfigMap](t, r, "game-lattice-director").Data
	require.Equal(t, "30s", data["DIRECTOR_DRAIN_DELAY"])
	require.Equal(t, "60s", data["DIRECTOR_SHUTDOWN_TIMEOUT"])
	for _, d := range of[*appsv1.Deployment](r) {
		require.EqualValues(t, 100, *d.Spec.Template.Spec.TerminationGracePeriodSeconds, d.Name)
	}
}

// Pins a listener that is enabled without a port, a Service or an address that all interfaces have.
func TestEachListenerHasAPortAndAService(t *testing.T) {
	t.Parallel()
	r := render(t, everything)
	replica := r.pods()["game-lattice-director"]
	require.Equal(t, map[string]int32{"http": 8080, "grpc": 50504, "orchestrator": 7350, "realtime": 4000, "realtime-ctl": 3000, "console": 8090, "metrics": 9090}, ports(replica))
	served := map[string]string{}
	for name, v := range variables(replica) {
		if v.ValueFrom == nil {
			served[name] = v.Value
		}
	}
	require.Equal(t, map[string]string{
		"DIRECTOR_ADDR": ":8080", "DIRECTOR_GRPC_ADDR": ":50504", "DIRECTOR_ORCHESTRATOR_ADDR": ":7350", "DIRECTOR_REALTIME_ADDR": ":4000",
		"DIRECTOR_REALTIME_CONTROL_ADDR": ":3000", "DIRECTOR_CONSOLE_ADDR": ":8090",
	}, served)
	services := map[string]string{}
	for _, s := range of[*corev1.Service](r) {
		services[s.Name] = s.Spec.Ports[0].TargetPort.StrVal
	}
	require.Equal(t, map[string]string{
		"game-lattice-director": "http", "game-lattice-director-grpc": "grpc", "game-lattice-director-orchestrator": "orchestrator",
		"game-lattice-director-realtime": "realtime", "game-lattice-director-realtime-control": "realtime-ctl",
		"game-lattice-director-console": "console", "game-lattice-director-metrics": "metrics",
	}, services)
	require.Equal(t, "None", named[*corev1.Service](t, r, "game-lattice-director-grpc").Spec.ClusterIP, "gRPC balances in the client")
	require.Equal(t, map[string]int32{"http": 8080, "metrics": 9090}, ports(render(t, "").pods()["game-lattice-director"]))
}

// Pins a private port that everybody can reach, and a public one that nobody can.
func TestNetworkPoliciesOpenWhatIsServed(t *testing.T) {
	t.Parallel()
	r := render(t, everything)
	replica := named[*networkingv1.NetworkPolicy](t, r, "game-lattice-director-replica")
	open := map[int32]bool{} // by port: may everybody connect?
	for _, rule := range replica.Spec.Ingress {
		require.Len(t, rule.Ports, 1)
		open[rule.Ports[0].Port.IntVal] = len(rule.From) == 0
	}
	require.Equal(t, map[int32]bool{8080: true, 7350: true, 4000: true, 50504: false, 3000: false, 8090: false, 9090: false}, open)
	require.ElementsMatch(t, slices.Collect(maps.Values(ports(r.pods()["game-lattice-director"]))), slices.Collect(maps.Keys(open)))
	worker := named[*networkingv1.NetworkPolicy](t, r, "game-lattice-director-worker")
	require.Len(t, worker.Spec.Ingress, 1)
	require.Equal(t, intstr.FromInt32(9090), *worker.Spec.Ingress[0].Ports[0].Port)
	require.NotEmpty(t, worker.Spec.Ingress[0].From)
	require.Empty(t, named[*networkingv1.NetworkPolicy](t, r, "game-lattice-director-migration").Spec.Ingress)
	for _, p := range of[*networkingv1.NetworkPolicy](r) {
		require.Equal(t, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}, p.Spec.PolicyTypes, p.Name)
		var out []int32
		for _, rule := range p.Spec.Egress {
			for _, port := range rule.Ports {
				out = append(out, port.Port.IntVal)
			}
		}
		require.Equal(t, []int32{53, 53, 5432, 443, 4318}, out, p.Name)
	}
}

// Pins an autoscaler and a Deployment that set the number of replicas in turn.
func TestTheAutoscalerOwnsTheNumberOfReplicas(t *testing.T) {
	t.Parallel()
	r := render(t, "replicas: {count: 5, autoscaling: {enabled: true, minReplicas: 3, maxReplicas: 9}}")
	require.Nil(t, named[*appsv1.Deployment](t, r, "game-lattice-director").Spec.Replicas)
	hpa := of[*autoscalingv2.HorizontalPodAutoscaler](r)[0]
	require.Equal(t, "game-lattice-director", hpa.Spec.ScaleTargetRef.Name)
	fixed := render(t, "replicas: {count: 5}")
	require.EqualValues(t, 5, *named[*appsv1.Deployment](t, fixed, "game-lattice-director").Spec.Replicas)
	require.Empty(t, of[*autoscalingv2.HorizontalPodAutoscaler](fixed))
}

// Pins alerts that never fire because Prometheus knows the processes as another job, and rules that are not those of
// the repository.
func TestPrometheusSeesAllProcessesAsJobDirector(t *testing.T) {
	t.Parallel()
	r := render(t, everything)
	monitor := of[*monitoring.ServiceMonitor](r)[0]
	endpoint := monitor.Spec.Endpoints[0]
	require.Equal(t, "job", endpoint.RelabelConfigs[0].TargetLabel)
	require.Equal(t, "director", *endpoint.RelabelConfigs[0].Replacement)
	var scraped []string
	for _, s := range of[*corev1.Service](r) {
		if matches(monitor.Spec.Selector.MatchLabels, s.Labels) {
			require.Equal(t, s.Spec.Ports[0].Name, endpoint.Port)
			scraped = append(scraped, r.selected(s.Spec.Selector)...)
		}
	}
	require.Equal(t, []string{"game-lattice-director", "game-lattice-director-worker"}, scraped)

	text, err := os.ReadFile("../../prometheus/alerts.yaml")
	require.NoError(t, err)
	var rules monitoring.PrometheusRuleSpec
	require.NoError(t, yaml.Unmarshal(text, &rules))
	installed := of[*monitoring.PrometheusRule](r)[0].Spec
	require.Equal(t, rules, installed)
	require.Equal(t, "No replica is scraped", installed.Groups[0].Rules[1].Annotations["summary"], "it replaces what is merged")
}

// Pins a change of settings that no pod notices.
func TestAChangeOfSettingsReplacesPods(t *testing.T) {
	t.Parallel()
	before, after := render(t, ""), render(t, "settings: {DIRECTOR_MAX_CONNS: 24}")
	for _, name := range []string{"game-lattice-director", "game-lattice-director-worker"} {
		require.NotEqual(t, before.pods()[name].Annotations, after.pods()[name].Annotations, name)
	}
	require.Equal(t, "24", named[*corev1.ConfigMap](t, after, "game-lattice-director").Data["DIRECTOR_MAX_CONNS"])
}

// Pins notes that say nothing about a release that does not work.
func TestNotesWarn(t *testing.T) {
	t.Parallel()
	require.NotContains(t, render(t, everything).notes, "NO ")
	require.Contains(t, render(t, "workers: {enabled: false}").notes, "NO WORKER")
	require.NotContains(t, render(t, "workers: {enabled: false}\nsettings: {DIRECTOR_WORK: true}").notes, "NO WORKER")
	require.Contains(t, render(t, "").notes, "NO LOGIN")
	require.Contains(t, render(t, "migration: {enabled: false}").notes, "NO MIGRATION")
}

// Pins a chart that `helm lint --strict` refuses.
func TestHelmLintFindsNothing(t *testing.T) {
	t.Parallel()
	for _, message := range lint.RunAll(chartDir, map[string]any{}, "games").Messages {
		require.Equal(t, "icon is recommended", message.Err.Error())
	}
}
