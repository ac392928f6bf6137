package helm_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	podsecurity "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// requireConsistent requires what must hold of every rendering: pods are restricted, and objects that refer to each
// other agree.
func requireConsistent(t *testing.T, r rendered) {
	t.Helper()
	for name, pod := range r.pods() {
		requireRestricted(t, name, pod)
		requireProbes(t, name, pod)
		requireMounts(t, name, pod)
	}
	requireSelectors(t, r)
	requireNoSecretValues(t, r)
}

// Pins a pod that a namespace with the Pod Security Standard "restricted" refuses, or whose container can write to its
// image.
func requireRestricted(t *testing.T, name string, pod corev1.PodTemplateSpec) {
	t.Helper()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	require.NoError(t, err)
	restricted := podsecurity.LevelVersion{Level: podsecurity.LevelRestricted, Version: podsecurity.LatestVersion()}
	for _, result := range evaluator.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec) {
		require.True(t, result.Allowed, "%s: %s: %s", name, result.ForbiddenReason, result.ForbiddenDetail)
	}
	for _, c := range pod.Spec.Containers {
		require.True(t, *c.SecurityContext.ReadOnlyRootFilesystem, "%s/%s", name, c.Name)
		require.NotEmpty(t, c.Resources.Requests, "%s/%s", name, c.Name)
		require.Contains(t, c.Resources.Limits, corev1.ResourceMemory, "%s/%s", name, c.Name)
		require.NotContains(t, c.Resources.Limits, corev1.ResourceCPU, "a replica that is frozen holds locks")
	}
}

// Pins a probe of a path or port that is not served, which restarts pods for ever.
func requireProbes(t *testing.T, name string, pod corev1.PodTemplateSpec) {
	t.Helper()
	c := pod.Spec.Containers[0]
	for _, probe := range []*corev1.Probe{c.ReadinessProbe, c.LivenessProbe, c.StartupProbe} {
		switch {
		case probe == nil:
		case probe.HTTPGet != nil:
			require.Contains(t, []string{"/healthz", "/readyz"}, probe.HTTPGet.Path, name)
			require.Contains(t, ports(pod), probe.HTTPGet.Port.StrVal, name)
		default:
			require.Contains(t, ports(pod), probe.TCPSocket.Port.StrVal, name)
		}
	}
	if c.LivenessProbe != nil {
		require.Equal(t, "/healthz", c.LivenessProbe.HTTPGet.Path, "%s: an outage of Postgres must not restart it", name)
	}
}

func requireMounts(t *testing.T, name string, pod corev1.PodTemplateSpec) {
	t.Helper()
	volumes := map[string]bool{}
	for _, v := range pod.Spec.Volumes {
		volumes[v.Name] = true
	}
	for _, m := range pod.Spec.Containers[0].VolumeMounts {
		require.True(t, volumes[m.Name], "%s mounts %s", name, m.Name)
	}
}

// Pins a Service, a budget or a policy that selects no pods, or the pods of others.
func requireSelectors(t *testing.T, r rendered) {
	t.Helper()
	for _, d := range of[*appsv1.Deployment](r) {
		require.Equal(t, []string{d.Name}, r.selected(d.Spec.Selector.MatchLabels), d.Name)
		for _, spread := range d.Spec.Template.Spec.TopologySpreadConstraints {
			require.Equal(t, []string{d.Name}, r.selected(spread.LabelSelector.MatchLabels), d.Name)
		}
	}
	for _, s := range of[*corev1.Service](r) {
		targets := r.selected(s.Spec.Selector)
		require.NotEmpty(t, targets, s.Name)
		for _, target := range targets {
			for _, port := range s.Spec.Ports {
				require.Contains(t, ports(r.pods()[target]), port.TargetPort.StrVal, "%s: %s", s.Name, target)
			}
		}
	}
	for _, b := range of[*policyv1.PodDisruptionBudget](r) {
		require.Equal(t, []string{b.Name}, r.selected(b.Spec.Selector.MatchLabels), b.Name)
	}
	for _, p := range of[*networkingv1.NetworkPolicy](r) {
		require.Len(t, r.selected(p.Spec.PodSelector.MatchLabels), 1, p.Name)
	}
	for _, i := range of[*networkingv1.Ingress](r) {
		backend := i.Spec.Rules[0].HTTP.Paths[0].Backend.Service
		s := named[*corev1.Service](t, r, backend.Name)
		require.Equal(t, backend.Port.Name, s.Spec.Ports[0].Name, i.Name)
	}
}
