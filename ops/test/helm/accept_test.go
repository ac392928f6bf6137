package helm_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	yamlstream "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/apps"
	_ "k8s.io/kubernetes/pkg/apis/apps/install" // registers the types, their defaults and conversions
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	autoscalingvalidation "k8s.io/kubernetes/pkg/apis/autoscaling/validation"
	"k8s.io/kubernetes/pkg/apis/batch"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	batchvalidation "k8s.io/kubernetes/pkg/apis/batch/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/networking"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	networkingvalidation "k8s.io/kubernetes/pkg/apis/networking/validation"
	"k8s.io/kubernetes/pkg/apis/policy"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	policyvalidation "k8s.io/kubernetes/pkg/apis/policy/validation"
	"k8s.io/kubernetes/pkg/apis/rbac"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	rbacvalidation "k8s.io/kubernetes/pkg/apis/rbac/validation"
	gateway "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"
)

// codecs refuses fields that Kubernetes does not know, and duplicate ones.
var codecs = serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict)

// accepted decodes the documents of a file as the API server does, and requires that its own validation accepts each.
func accepted(t *testing.T, file, text string) (objects []runtime.Object) {
	t.Helper()
	documents := yamlstream.NewYAMLReader(newReader(text))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects
		}
		require.NoError(t, err)
		if strings.TrimSpace(withoutComments(string(document))) == "" {
			continue
		}
		object, err := decode(document)
		require.NoError(t, err, "%s:\n%s", file, document)
		require.Empty(t, refusals(object), "%s:\n%s", file, document)
		objects = append(objects, object)
	}
}

// decode returns the object of a document, of the type that it names.
func decode(document []byte) (runtime.Object, error) {
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal(document, &kind); err != nil {
		return nil, err
	}
	custom := map[string]runtime.Object{
		monitoring.ServiceMonitorsKind: &monitoring.ServiceMonitor{}, monitoring.PrometheusRuleKind: &monitoring.PrometheusRule{},
		"HTTPRoute": &gateway.HTTPRoute{}, "GRPCRoute": &gateway.GRPCRoute{},
	}
	if into, isCustom := custom[kind.Kind]; isCustom {
		return into, yaml.UnmarshalStrict(document, into)
	}
	object, _, err := codecs.UniversalDeserializer().Decode(document, nil, nil)
	return object, err
}

// refusals returns why the API server would refuse an object.
func refusals(object runtime.Object) field.ErrorList {
	object = object.DeepCopyObject()
	if meta(object).GetNamespace() == "" {
		meta(object).SetNamespace("games")
	}
	switch object.(type) {
	case *monitoring.ServiceMonitor, *monitoring.PrometheusRule, *gateway.HTTPRoute, *gateway.GRPCRoute:
		return nil // custom resources, which their types describe
	}
	legacyscheme.Scheme.Default(object)
	internal, err := legacyscheme.Scheme.ConvertToVersion(object, runtime.InternalGroupVersioner)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	return validate(internal)
}

func validate(object runtime.Object) field.ErrorList {
	switch o := object.(type) {
	case *apps.Deployment:
		return appsvalidation.ValidateDeployment(o, corevalidation.PodValidationOptions{})
	case *batch.Job:
		o.Spec.ManualSelector = new(true) // the API server makes a selector of a label that it adds
		o.Spec.Selector = &metav1.LabelSelector{MatchLabels: o.Spec.Template.Labels}
		return batchvalidation.ValidateJobCreate(o, batchvalidation.JobValidationOptions{})
	case *core.Pod:
		return corevalidation.ValidatePodCreate(o, corevalidation.PodValidationOptions{})
	case *rbac.Role:
		return rbacvalidation.ValidateRole(o)
	case *rbac.RoleBinding:
		return rbacvalidation.ValidateRoleBinding(o)
	case *core.Service:
		if o.Spec.ClusterIP != "" {
			o.Spec.ClusterIPs = []string{o.Spec.ClusterIP} // as the API server does
		}
		return corevalidation.ValidateServiceCreate(o)
	case *core.ServiceAccount:
		return corevalidation.ValidateServiceAccount(o)
	case *core.ConfigMap:
		return corevalidation.ValidateConfigMap(o)
	case *core.Secret:
		return corevalidation.ValidateSecret(o)
	case *policy.PodDisruptionBudget:
		return policyvalidation.ValidatePodDisruptionBudget(o, policyvalidation.PodDisruptionBudgetValidationOptions{})
	case *networking.NetworkPolicy:
		return networkingvalidation.ValidateNetworkPolicy(o, networkingvalidation.NetworkPolicyValidationOptions{})
	case *networking.Ingress:
		return networkingvalidation.ValidateIngressCreate(o)
	case *autoscaling.HorizontalPodAutoscaler:
		return autoscalingvalidation.ValidateHorizontalPodAutoscaler(o, autoscalingvalidation.HorizontalPodAutoscalerSpecValidationOptions{MinReplicasLowerBound: 1})
	}
	return field.ErrorList{field.NotSupported(field.NewPath("kind"), kindOf(object), []string{"a kind that this test validates"})}
}
