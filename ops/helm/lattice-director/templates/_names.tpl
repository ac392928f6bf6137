{{- define "director.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- /* The longest suffix has 17 characters, and names of Services at most 63. */}}
{{- define "director.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 45 | trimSuffix "-" }}
{{- else if contains (include "director.name" .) .Release.Name }}
{{- .Release.Name | trunc 45 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "director.name" .) | trunc 45 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "director.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "director.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "director.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{- /* The labels that selectors use: they never change. Takes (dict "root" $ "component" …). */}}
{{- define "director.selector" -}}
app.kubernetes.io/name: {{ include "director.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "director.labels" -}}
{{ include "director.selector" . }}
app.kubernetes.io/version: {{ default .root.Chart.AppVersion .root.Values.image.tag | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 }}
{{- end }}

{{- /* Selects the pods of replicas and workers, which have a port for metrics, and not those of the migration. */}}
{{- define "director.scraped" -}}
app.kubernetes.io/name: {{ include "director.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{ include "director.scrapedLabel" . }}
{{- end }}

{{- define "director.scrapedLabel" -}}
lattice-director/metrics: "true"
{{- end }}
