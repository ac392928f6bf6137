package helm_test

import (
	"bufio"
	"reflect"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func newReader(text string) *bufio.Reader { return bufio.NewReader(strings.NewReader(text)) }

// withoutComments returns the lines that are neither comments nor separators of documents.
func withoutComments(text string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if trimmed := strings.TrimSpace(line); !strings.HasPrefix(trimmed, "#") && trimmed != "---" {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

func meta(o runtime.Object) metav1.Object { return o.(metav1.Object) }

func kindOf(o runtime.Object) string { return reflect.TypeOf(o).Elem().Name() }

// pods returns the templates of all pods, by the name of the object that creates them.
func (r rendered) pods() map[string]corev1.PodTemplateSpec {
	found := map[string]corev1.PodTemplateSpec{}
	for _, d := range of[*appsv1.Deployment](r) {
		found[d.Name] = d.Spec.Template
	}
	for _, j := range of[*batchv1.Job](r) {
		found[j.Name] = j.Spec.Template
	}
	for _, p := range of[*corev1.Pod](r) {
		found[p.Name] = corev1.PodTemplateSpec{ObjectMeta: p.ObjectMeta, Spec: p.Spec}
	}
	return found
}

// selected returns the names of the objects whose pods a selector matches.
func (r rendered) selected(labels map[string]string) (names []string) {
	pods := r.pods()
	for _, name := range sortedKeys(pods) {
		if matches(labels, pods[name].Labels) {
			names = append(names, name)
		}
	}
	return names
}

func matches(selector, labels map[string]string) bool {
	for key, value := range selector {
		if labels[key] != value {
			return false
		}
	}
	return true
}

// variables returns the environment of a pod's first container, by name.
func variables(pod corev1.PodTemplateSpec) map[string]corev1.EnvVar {
	found := map[string]corev1.EnvVar{}
	for _, v := range pod.Spec.Containers[0].Env {
		found[v.Name] = v
	}
	return found
}

// ports returns the numbers of a pod's ports, by name.
func ports(pod corev1.PodTemplateSpec) map[string]int32 {
	found := map[string]int32{}
	for _, p := range pod.Spec.Containers[0].Ports {
		found[p.Name] = p.ContainerPort
	}
	return found
}
