{{- /* The listeners of a replica that are served, by name: {api: {env, port, name, protocol, …}} as JSON. */}}
{{- define "director.listeners" -}}
{{- $all := dict
  "api"             (dict "env" "DIRECTOR_ADDR" "name" "http" "suffix" "")
  "grpc"            (dict "env" "DIRECTOR_GRPC_ADDR" "name" "grpc" "suffix" "-grpc")
  "orchestrator"    (dict "env" "DIRECTOR_ORCHESTRATOR_ADDR" "name" "orchestrator" "suffix" "-orchestrator")
  "bevygapNats"     (dict "env" "DIRECTOR_BEVYGAP_NATS_ADDR" "name" "nats" "suffix" "-nats")
  "realtime"        (dict "env" "DIRECTOR_REALTIME_ADDR" "name" "realtime" "suffix" "-realtime")
  "realtimeControl" (dict "env" "DIRECTOR_REALTIME_CONTROL_ADDR" "name" "realtime-ctl" "suffix" "-realtime-control")
  "console"         (dict "env" "DIRECTOR_CONSOLE_ADDR" "name" "console" "suffix" "-console")
}}
{{- $served := dict }}
{{- range $listener, $fixed := $all }}
{{- $value := index $.Values.listeners $listener }}
{{- if dig "enabled" true $value }}
{{- $_ := set $served $listener (merge $fixed $value) }}
{{- end }}
{{- end }}
{{- toJson $served }}
{{- end }}
