package planner

import "strings"

// Defaults fills in what the API server would for a workload (pkg/apis/core/v1
// and pkg/apis/apps/v1, Kubernetes 1.37), so that two manifests can be compared
// where no server is at hand. It covers the fields that pod templates commonly
// leave out; with a cluster, the server's own dry run is asked instead.
func Defaults(m Manifest) map[string]any {
	object := clone(m.Object).(map[string]any)
	object["apiVersion"], object["kind"] = m.APIVersion, m.Kind
	if m.Kind == "Pod" {
		defaultPodSpec(sub(object, "spec"))
		return object
	}
	spec := sub(object, "spec")
	for field, value := range workloadDefaults[m.Kind] {
		setDefault(spec, field, value)
	}
	defaultPodSpec(sub(sub(spec, "template"), "spec"))
	return object
}

var workloadDefaults = map[string]map[string]any{
	"Deployment":  {"replicas": int64(1), "revisionHistoryLimit": int64(10), "progressDeadlineSeconds": int64(600)},
	"StatefulSet": {"replicas": int64(1), "revisionHistoryLimit": int64(10), "podManagementPolicy": "OrderedReady"},
	"DaemonSet":   {"revisionHistoryLimit": int64(10)},
	"ReplicaSet":  {"replicas": int64(1)},
}

func defaultPodSpec(spec map[string]any) {
	setDefault(spec, "restartPolicy", "Always")
	setDefault(spec, "terminationGracePeriodSeconds", int64(30))
	setDefault(spec, "dnsPolicy", "ClusterFirst")
	setDefault(spec, "schedulerName", "default-scheduler")
	setDefault(spec, "securityContext", map[string]any{})
	if account := spec["serviceAccountName"]; account != nil {
		setDefault(spec, "serviceAccount", account)
	}
	each(spec, "containers", defaultContainer)
	each(spec, "initContainers", defaultContainer)
	each(spec, "volumes", defaultVolume)
}

func defaultContainer(c map[string]any) {
	setDefault(c, "terminationMessagePath", "/dev/termination-log")
	setDefault(c, "terminationMessagePolicy", "File")
	setDefault(c, "resources", map[string]any{})
	policy := "IfNotPresent"
	if image, _ := c["image"].(string); strings.HasSuffix(canonical(image), ":latest") && !strings.Contains(image, "@") {
		policy = "Always"
	}
	setDefault(c, "imagePullPolicy", policy)
	each(c, "ports", func(p map[string]any) { setDefault(p, "protocol", "TCP") })
	each(c, "env", func(e map[string]any) {
		if ref := mapAt(e, "valueFrom", "fieldRef"); ref != nil {
			setDefault(ref, "apiVersion", "v1")
		}
	})
	for _, name := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
		if probe, ok := c[name].(map[string]any); ok {
			defaultProbe(probe)
		}
	}
	defaultRequests(mapAt(c, "resources"))
}

func defaultProbe(probe map[string]any) {
	setDefault(probe, "timeoutSeconds", int64(1))
	setDefault(probe, "periodSeconds", int64(10))
	setDefault(probe, "successThreshold", int64(1))
	setDefault(probe, "failureThreshold", int64(3))
	if get := mapAt(probe, "httpGet"); get != nil {
		setDefault(get, "scheme", "HTTP")
		setDefault(get, "path", "/")
	}
	if number, ok := number(probe["initialDelaySeconds"]); ok && number == 0 {
		delete(probe, "initialDelaySeconds")
	}
}

// defaultRequests takes a limit for the request that is not written.
func defaultRequests(resources map[string]any) {
	limits := mapAt(resources, "limits")
	for name, limit := range limits {
		setDefault(sub(resources, "requests"), name, limit)
	}
}

func defaultVolume(v map[string]any) {
	for _, kind := range []string{"configMap", "secret", "projected", "downwardAPI"} {
		if source, ok := v[kind].(map[string]any); ok {
			setDefault(source, "defaultMode", int64(420))
		}
	}
}

func setDefault(m map[string]any, key string, value any) {
	if m[key] == nil {
		m[key] = value
	}
}

// sub is a field that is an object, made if it is not there.
func sub(m map[string]any, key string) map[string]any {
	inner, ok := m[key].(map[string]any)
	if !ok {
		inner = map[string]any{}
		m[key] = inner
	}
	return inner
}

func each(m map[string]any, key string, do func(map[string]any)) {
	list, _ := m[key].([]any)
	for _, item := range list {
		if inner, ok := item.(map[string]any); ok {
			do(inner)
		}
	}
}
