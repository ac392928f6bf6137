{{- /* What containers of the director may do: nothing that the Pod Security Standard "restricted" forbids. */}}
{{- define "director.containerSecurity" -}}
readOnlyRootFilesystem: true
allowPrivilegeEscalation: false
capabilities: {drop: [ALL]}
{{- end }}

{{- define "director.pullSecrets" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end }}

{{- /* One variable from a Secret. Takes (dict "root" $ "name" … "from" {secret, key}). */}}
{{- define "director.secretVariable" -}}
- name: {{ .name }}
  valueFrom:
    secretKeyRef:
      name: {{ default .root.Values.existingSecret (get .from "secret") }}
      key: {{ default .name (get .from "key") }}
{{- end }}

{{- define "director.secretEnv" -}}
{{- range $name, $from := .Values.secretEnv }}
{{- if not (kindIs "invalid" $from) }}
{{ include "director.secretVariable" (dict "root" $ "name" $name "from" $from) }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Further variables, at the end. Takes (dict "root" $ "env" a list of EnvVars). A name that the chart sets is refused: of two
variables with one name, tools keep either. */}}
{{- define "director.extraEnv" -}}
{{- range .env }}
{{- if and (hasKey $.root.Values.secretEnv .name) (not (kindIs "invalid" (get $.root.Values.secretEnv .name))) }}
{{- fail (printf "extraEnv has %s, which secretEnv has as well" .name) }}
{{- end }}
{{- end }}
{{- with .env }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "director.envFrom" -}}
- configMapRef: {name: {{ include "director.fullname" . }}}
{{- with .Values.extraEnvFrom }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "director.initContainers" -}}
{{- with .initContainers }}
initContainers:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* Where a pod may run. Takes (dict "root" $ "component" … "of" replicas or workers). */}}
{{- define "director.placement" -}}
{{- with .root.Values.topologyKeys }}
topologySpreadConstraints:
  {{- range . }}
  - topologyKey: {{ . }}
    maxSkew: 1
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "director.selector" $ | nindent 8 }}
    matchLabelKeys: [pod-template-hash] # an upgrade spreads the new pods, whatever the old ones do
  {{- end }}
{{- end }}
{{ include "director.nodes" .of }}
{{- end }}

{{- /* On which nodes a pod may run. Takes replicas, workers or migration. */}}
{{- define "director.nodes" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}

{{- /* What the pods of replicas and workers have in common. Takes the same as director.placement. */}}
{{- define "director.podMetadata" -}}
labels:
  {{- include "director.labels" . | nindent 2 }}
  {{- include "director.scrapedLabel" .root | nindent 2 }}
  {{- with .of.labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
annotations:
  # Pods read settings at their start only, so a change of settings replaces them.
  checksum/settings: {{ toJson (list .root.Values.settings .root.Values.drainDelay .root.Values.shutdownTimeout) | sha256sum }}
  {{- with .of.annotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- define "director.podSpec" -}}
serviceAccountName: {{ include "director.serviceAccount" .root }}
automountServiceAccountToken: {{ .root.Values.serviceAccount.automountToken }}
{{- include "director.pullSecrets" .root }}
# More than drainDelay and shutdownTimeout together.
terminationGracePeriodSeconds: {{ add .root.Values.drainDelay .root.Values.shutdownTimeout 10 }}
securityContext:
  {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
{{- with .root.Values.extraVolumes }}
volumes:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{ include "director.placement" . }}
{{- include "director.initContainers" .of | nindent 0 }}
{{- end }}
