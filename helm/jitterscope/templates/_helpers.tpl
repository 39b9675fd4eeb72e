{{- define "jitterscope.name" -}}
{{- if contains "jitterscope" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-jitterscope" (.Release.Name | trunc 28 | trimSuffix "-") }}{{ end }}
{{- end }}

{{- /* Labels of an object: include "jitterscope.labels" (list . "api") */ -}}
{{- define "jitterscope.labels" -}}
{{ include "jitterscope.selector" . }}
app.kubernetes.io/version: {{ (index . 0).Chart.AppVersion | quote }}
{{- /* By this label the product's own risks are told from those of its user; the demo's fault is one of the user's. */}}
{{- if not (hasPrefix "demo" (index . 1)) }}
app.kubernetes.io/part-of: jitterscope
{{- end }}
app.kubernetes.io/managed-by: {{ (index . 0).Release.Service }}
{{- end }}

{{- define "jitterscope.selector" -}}
app.kubernetes.io/name: jitterscope
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "jitterscope.secret" -}}
{{- if .Values.trial.enabled }}{{ include "jitterscope.name" . }}-trial
{{- else }}{{ required "existingSecret: name a Secret with the database's URLs (see values.yaml), or set trial.enabled=true to try it out" .Values.existingSecret }}
{{- end }}
{{- end }}

{{- define "jitterscope.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- /* One variable from the Secret: include "jitterscope.fromSecret" (list . "NAME" optional?) */ -}}
{{- define "jitterscope.fromSecret" -}}
- name: {{ index . 1 }}
  valueFrom:
    secretKeyRef:
      name: {{ include "jitterscope.secret" (index . 0) }}
      key: {{ index . 1 }}
      {{- if index . 2 }}
      optional: true
      {{- end }}
{{- end }}

{{- /* Environment of the API, worker, beat, and setup. */ -}}
{{- define "jitterscope.environment" -}}
{{ include "jitterscope.fromSecret" (list . "JITTERSCOPE_DATABASE_URL" false) }}
{{ include "jitterscope.fromSecret" (list . "JITTERSCOPE_VALKEY_URL" false) }}
{{ include "jitterscope.fromSecret" (list . "JITTERSCOPE_SECRET_KEY" false) }}
{{- if .Values.metricsPort }}
- name: JITTERSCOPE_METRICS_LISTEN
  value: "0.0.0.0:{{ .Values.metricsPort }}"
{{- end }}
- name: JITTERSCOPE_PUBLIC_URL
  value: {{ .Values.publicUrl | quote }}
{{- if .Values.evidence.existingClaim }}
- name: JITTERSCOPE_EVIDENCE_FOLDER
  value: /evidence
- name: JITTERSCOPE_EVIDENCE_MAX_MEMORY_BYTES
  value: {{ .Values.evidence.maxMemoryBytes | int64 | quote }}
{{- end }}
{{- range $name, $value := .Values.settings }}
- name: {{ $name }}
  {{- /* toJson, because a large number from a values file would otherwise be written as 4.02653184e+08. */}}
  value: {{ ternary $value (toJson $value) (kindIs "string" $value) | quote }}
{{- end }}
{{- end }}

{{- /* Common to all backend pods. */ -}}
{{- define "jitterscope.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: { type: RuntimeDefault }
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - { name: tmp, emptyDir: {} }
  {{- with .Values.evidence.existingClaim }}
  - { name: evidence, persistentVolumeClaim: { claimName: {{ . | quote }} } }
  {{- end }}
{{- end }}

{{- /* URL that collectors send to. The bare name resolves in the first search domain; with the namespace it would take the third. */ -}}
{{- define "jitterscope.server" -}}
{{- if .Values.collector.server }}{{ .Values.collector.server }}
{{- else if .Values.backend.enabled }}http://{{ include "jitterscope.name" . }}:{{ .Values.api.service.port }}
{{- else }}{{ fail "collector.server: set the URL of a backend, because this release has none" }}
{{- end }}
{{- end }}

{{- /* Resources of a container, with a trial's CPU request: include "jitterscope.resources" (list . .Values.api.resources) */ -}}
{{- define "jitterscope.resources" -}}
{{- $resources := deepCopy (index . 1) }}
{{- if (index . 0).Values.trial.enabled }}
{{- $resources = mergeOverwrite $resources (dict "requests" (dict "cpu" (index . 0).Values.trial.cpuRequest)) }}
{{- end }}
{{- toYaml $resources }}
{{- end }}

{{- define "jitterscope.container" -}}
image: {{ include "jitterscope.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
volumeMounts:
  - { name: tmp, mountPath: /tmp }
  {{- if .Values.evidence.existingClaim }}
  - { name: evidence, mountPath: /evidence }
  {{- end }}
{{- end }}

{{- /* Replicas, unless an autoscaler sets them: include "jitterscope.replicas" (list . .Values.api.replicas .Values.api.autoscaling) */ -}}
{{- define "jitterscope.replicas" -}}
{{- if not (index . 2).enabled -}}
replicas: {{ ternary (index . 0).Values.trial.replicas (index . 1) (index . 0).Values.trial.enabled }}
{{- end }}
{{- end }}

{{- /* Topology spread of a pod: include "jitterscope.spread" (list . "api") */ -}}
{{- define "jitterscope.spread" -}}
{{- with (index . 0).Values.topologySpreadConstraints -}}
topologySpreadConstraints:
{{- range . }}
  - {{ toYaml . | indent 4 | trim }}
    labelSelector:
      matchLabels: {{- include "jitterscope.selector" $ | nindent 8 }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Scaling of a Deployment: include "jitterscope.scaling" (list . "api" .Values.api.podDisruptionBudget .Values.api.autoscaling) */ -}}
{{- define "jitterscope.scaling" -}}
{{- $root := index . 0 }}
{{- $component := index . 1 }}
{{- $budget := index . 2 }}
{{- $autoscaling := index . 3 }}
{{- $name := printf "%s-%s" (include "jitterscope.name" $root) $component }}
{{- if $budget.enabled }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $name }}
  labels: {{- include "jitterscope.labels" (list $root $component) | nindent 4 }}
spec:
  maxUnavailable: {{ $budget.maxUnavailable }}
  # A pod that is not ready must not block the drain of its node.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels: {{- include "jitterscope.selector" (list $root $component) | nindent 6 }}
{{- end }}
{{- if $autoscaling.enabled }}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ $name }}
  labels: {{- include "jitterscope.labels" (list $root $component) | nindent 4 }}
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: {{ $name }} }
  minReplicas: {{ $autoscaling.minReplicas }}
  maxReplicas: {{ $autoscaling.maxReplicas }}
  metrics:
    - type: Resource
      resource:
        name: cpu
        target: { type: AverageValue, averageValue: {{ $autoscaling.averageCpu | quote }} }
{{- end }}
{{- end }}
