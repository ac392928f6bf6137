package helm_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	gateway "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"helm.sh/helm/v4/pkg/chart/common"
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
	require.False(t, *job.Spec.Template.Spec.AutomountServiceAccountToken)
	require.Empty(t, job.Spec.Template.Spec.Containers[0].EnvFrom, "the ConfigMap is created after the hook")
	policy := named[*networkingv1.NetworkPolicy](t, r, "game-lattice-director-migration")
	require.Less(t, policy.Annotations["helm.sh/hook-weight"], job.Annotations["helm.sh/hook-weight"])
	for _, o := range r.objects {
		if o != runtime.Object(job) && o != runtime.Object(policy) && meta(o).GetAnnotations()["helm.sh/hook"] != "test" {
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
	require.Equal(t, map[string]int32{"http": 8080, "grpc": 50504, "orchestrator": 7350, "nats": 4222, "realtime": 4000, "realtime-ctl": 3000, "console": 8090, "metrics": 9090}, ports(replica))
	served := map[string]string{}
	for name, v := range variables(replica) {
		if v.ValueFrom == nil && name != "OTEL_RESOURCE_ATTRIBUTES" {
			served[name] = v.Value
		}
	}
	require.Equal(t, map[string]string{
		"DIRECTOR_ADDR": ":8080", "DIRECTOR_GRPC_ADDR": ":50504", "DIRECTOR_ORCHESTRATOR_ADDR": ":7350", "DIRECTOR_BEVYGAP_NATS_ADDR": ":4222", "DIRECTOR_REALTIME_ADDR": ":4000",
		"DIRECTOR_REALTIME_CONTROL_ADDR": ":3000", "DIRECTOR_CONSOLE_ADDR": ":8090",
	}, served)
	services := map[string]string{}
	for _, s := range of[*corev1.Service](r) {
		services[s.Name] = s.Spec.Ports[0].TargetPort.StrVal
	}
	require.Equal(t, map[string]string{
		"game-lattice-director": "http", "game-lattice-director-grpc": "grpc", "game-lattice-director-orchestrator": "orchestrator",
		"game-lattice-director-nats":     "nats",
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
	require.Equal(t, map[int32]bool{8080: true, 7350: true, 4222: true, 4000: true, 50504: false, 3000: false, 8090: false, 9090: false}, open)
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
	require.EqualValues(t, 600, *hpa.Spec.Behavior.ScaleDown.StabilizationWindowSeconds, "each replica that goes closes streams")
	require.Zero(t, *hpa.Spec.Behavior.ScaleUp.StabilizationWindowSeconds)
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

// Pins a migration on a node that has no taint of games, or without the proxy to the database that replicas have.
func TestTheMigrationRunsWhereItsValuesSay(t *testing.T) {
	t.Parallel()
	r := render(t, everything)
	pod := r.pods()["game-lattice-director-migrate"]
	require.Equal(t, "migrations", pod.Spec.ServiceAccountName)
	require.Equal(t, "games", pod.Spec.Tolerations[0].Key)
	require.Equal(t, map[string]string{"disk": "ssd"}, pod.Spec.NodeSelector)
	require.Equal(t, "zone", pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions[0].Key)
	require.Equal(t, "high", pod.Spec.PriorityClassName)
	require.Equal(t, "games", pod.Labels["team"])
	require.Equal(t, "games", named[*batchv1.Job](t, r, "game-lattice-director-migrate").Labels["team"])
	require.Equal(t, "disabled", pod.Annotations["linkerd.io/inject"])
	require.Equal(t, "/ca/ca.crt", variables(pod)["PGSSLROOTCERT"].Value)
	require.Equal(t, "/ca", pod.Spec.Containers[0].VolumeMounts[0].MountPath)
	require.Equal(t, "extra", pod.Spec.Containers[0].EnvFrom[0].ConfigMapRef.Name)
	require.NotContains(t, r.selected(map[string]string{"team": "games", "lattice-director/metrics": "true"}), "game-lattice-director-migrate")
	for _, name := range []string{"game-lattice-director", "game-lattice-director-worker", "game-lattice-director-migrate"} {
		spec := r.pods()[name].Spec
		require.Equal(t, "proxy", spec.InitContainers[0].Name, name)
		require.Equal(t, corev1.ContainerRestartPolicyAlways, *spec.InitContainers[0].RestartPolicy, name)
		require.Equal(t, "agent", spec.Containers[1].Name, name)
	}
}

// Pins variables of the values that no container has, or that the chart's own ones override.
func TestFurtherVariablesReachReplicasAndWorkers(t *testing.T) {
	t.Parallel()
	r := render(t, everything)
	for _, name := range []string{"game-lattice-director", "game-lattice-director-worker"} {
		pod := r.pods()[name]
		require.Equal(t, "team=games", variables(pod)["OTEL_RESOURCE_ATTRIBUTES"].Value, name)
		from := pod.Spec.Containers[0].EnvFrom
		require.Equal(t, []string{"game-lattice-director", "extra", "more", "MORE_"},
			[]string{from[0].ConfigMapRef.Name, from[1].ConfigMapRef.Name, from[2].SecretRef.Name, from[2].Prefix}, name)
	}
}

// Pins a route to a Service or a port that does not exist.
func TestRoutesLeadToServices(t *testing.T) {
	t.Parallel()
	r := render(t, everything)
	http := named[*gateway.HTTPRoute](t, r, "game-lattice-director")
	require.Equal(t, []gateway.Hostname{"director.example.com"}, http.Spec.Hostnames)
	require.EqualValues(t, "https", *http.Spec.ParentRefs[0].SectionName)
	require.Equal(t, "/", *http.Spec.Rules[0].Matches[0].Path.Value)
	grpc := named[*gateway.GRPCRoute](t, r, "game-lattice-director-grpc")
	for _, to := range []gateway.BackendObjectReference{http.Spec.Rules[0].BackendRefs[0].BackendObjectReference, grpc.Spec.Rules[0].BackendRefs[0].BackendObjectReference} {
		require.EqualValues(t, named[*corev1.Service](t, r, string(to.Name)).Spec.Ports[0].Port, *to.Port)
	}
	require.Empty(t, of[*gateway.HTTPRoute](render(t, "")))
}

// Pins a worker that Agones refuses, or that may do more than it does.
func TestAgonesLetsWorkersDoWhatTheyDo(t *testing.T) {
	t.Parallel()
	r := render(t, everything)
	role := of[*rbacv1.Role](r)[0]
	require.Equal(t, []rbacv1.PolicyRule{
		{APIGroups: []string{"agones.dev"}, Resources: []string{"gameservers"}, Verbs: []string{"get", "list", "delete"}},
		{APIGroups: []string{"agones.dev"}, Resources: []string{"fleets"}, Verbs: []string{"get"}},
	}, role.Rules)
	binding := of[*rbacv1.RoleBinding](r)[0]
	require.Equal(t, role.Name, binding.RoleRef.Name)
	require.Equal(t, []string{"fleets", "fleets", "games"}, []string{role.Namespace, binding.Namespace, binding.Subjects[0].Namespace})
	worker := r.pods()["game-lattice-director-worker"].Spec
	require.Equal(t, worker.ServiceAccountName, binding.Subjects[0].Name)
	require.True(t, *worker.AutomountServiceAccountToken)
	require.Empty(t, of[*rbacv1.Role](render(t, "")))
}

// Pins a dashboard that is not the one of the repository, or that Grafana's sidecar does not find.
func TestDashboardsAreThoseOfTheRepository(t *testing.T) {
	t.Parallel()
	r := render(t, everything)
	for _, name := range []string{"director", "rivalis"} {
		installed := named[*corev1.ConfigMap](t, r, "game-lattice-director-"+name+"-dash")
		require.Equal(t, "1", installed.Labels["grafana_dashboard"])
		text, err := os.ReadFile("../../grafana/" + name + ".json")
		require.NoError(t, err)
		require.JSONEq(t, string(text), installed.Data["lattice-"+name+".json"])
	}
}

// Pins a test of a release that needs more than the release has, or that runs with an install.
func TestHelmTestAsksDoctor(t *testing.T) {
	t.Parallel()
	r := render(t, everything)
	pod := named[*corev1.Pod](t, r, "game-lattice-director-doctor")
	require.Equal(t, "test", pod.Annotations["helm.sh/hook"])
	require.Equal(t, []string{"doctor"}, pod.Spec.Containers[0].Args)
	require.Equal(t, map[string]string{"DATABASE_URL": "director-secrets/DATABASE_URL", "DATABASE_URL_DIRECT": "database/direct", "DIRECTOR_EDGEGAP_TOKEN": "edgegap/token"},
		secretsOf(r.pods()[pod.Name]), "the database, and what the values add")
	require.Equal(t, []string{pod.Name}, r.selected(named[*networkingv1.NetworkPolicy](t, r, "game-lattice-director-test").Spec.PodSelector.MatchLabels))
	require.Empty(t, of[*corev1.Pod](render(t, "tests: {enabled: false}")))
}

// Pins a value that the README of the chart does not mention.
func TestTheReadmeNamesEveryValue(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(chartDir + "/README.md")
	require.NoError(t, err)
	values, err := common.ReadValuesFile(chartDir + "/values.yaml")
	require.NoError(t, err)
	for name, value := range values {
		require.Contains(t, string(text), "`"+name, name)
		group, isGroup := value.(map[string]any)
		if !isGroup || name == "secretEnv" || name == "podSecurityContext" {
			continue
		}
		for field := range group {
			require.Regexp(t, "`("+name+"\\.)?"+field+"[`.,]", string(text), "%s.%s", name, field)
		}
	}
}

// Pins values of the README that the chart refuses.
func TestTheReadmesValuesAreAccepted(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(chartDir + "/README.md")
	require.NoError(t, err)
	shown := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	require.Len(t, shown, 2)
	for _, values := range shown {
		requireConsistent(t, render(t, values[1]))
	}
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
