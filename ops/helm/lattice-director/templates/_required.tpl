{{- /* Refuses a listener without a variable that the program requires for it: its pods would end at their start, one after the other.
Each listener has the variables of which secretEnv or settings must have one. */}}
{{- define "director.required" -}}
{{- $required := dict
  "orchestrator"    (list "DIRECTOR_ORCHESTRATOR_ADMIN_KEYS" "FLEET_ADMIN_KEY")
  "realtime"        (list "DIRECTOR_REALTIME_MASTER_SECRET" "NEXIS_MASTER_SECRET" "DIRECTOR_REALTIME_KEY_SECRETS_ONLY" "DIRECTOR_REALTIME_AUTH" "NEXIS_AUTH_MODE")
  "realtimeControl" (list "DIRECTOR_REALTIME_INTERNAL_TOKEN" "NEXIS_INTERNAL_TOKEN")
  "console"         (list "DIRECTOR_OPS_TOKENS" "DIRECTOR_CONSOLE_OIDC_ISSUER")
}}
{{- range $listener := include "director.listeners" . | fromJson | keys | sortAlpha }}
{{- $one := default list (index $required $listener) }}
{{- $has := false }}
{{- range $one }}
{{- if or (hasKey $.Values.settings .) (and (hasKey $.Values.secretEnv .) (not (kindIs "invalid" (get $.Values.secretEnv .)))) }}
{{- $has = true }}
{{- end }}
{{- end }}
{{- if and $one (not $has) }}
{{- fail (printf "listeners.%s is enabled and needs secretEnv.%s (docs/how-to/kubernetes.md)" $listener (first $one)) }}
{{- end }}
{{- end }}
{{- end }}
