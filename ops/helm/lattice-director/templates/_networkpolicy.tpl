{{- /* Who may connect to a port. Takes a listener: {name, port, from}. */}}
{{- define "director.ingressRule" -}}
- ports: [{port: {{ .port }}}] # {{ .name }}
  {{- with .from }}
  from:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{- define "director.egressRules" -}}
- ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]
{{- with .Values.networkPolicy.egressPorts }}
- ports:
    {{- range . }}
    - {port: {{ . }}}
    {{- end }}
{{- end }}
{{- with .Values.networkPolicy.extraEgress }}
{{ toYaml . }}
{{- end }}
{{- end }}
