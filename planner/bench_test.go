package planner

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BenchmarkDecide plans 100 workloads with up to 50,000 pods. ns/pod stays the
// same from size to size as long as Decide is linear.
func BenchmarkDecide(b *testing.B) {
	for _, change := range []struct {
		name  string
		edits []edit
	}{
		{"settled", nil},
		{"image", []edit{image(0, "app:v2")}},
		{"metadata", []edit{podAnnotation("config", "b")}},
		{"recreate", []edit{env("debug")}},
		{"added default", []edit{set1("PreemptLowerPriority", "spec", "template", "spec", "preemptionPolicy")}},
	} {
		for _, pods := range []int{1_000, 10_000, 50_000} {
			b.Run(fmt.Sprintf("%s/%d", change.name, pods), func(b *testing.B) {
				commit, snap := crowd(b, pods, change.edits...)
				b.ReportAllocs()
				before := processorTime(b)
				for b.Loop() {
					Decide(commit, snap)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(pods), "ns/pod")
				b.ReportMetric(float64(processorTime(b)-before)/float64(b.N)/1e6, "cpu-ms/op")
			})
		}
	}
}

// processorTime is what the process has used of its processors, whoever else
// uses them too.
func processorTime(b *testing.B) int64 {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return used.Utime.Nano() + used.Stime.Nano()
}

// crowd is 100 workloads of three kinds with that many pods in all.
func crowd(b testing.TB, pods int, edits ...edit) (Commit, Snapshot) {
	b.Helper()
	var from, to []Manifest
	for i := range 100 {
		m := workload(b, []string{"Deployment", "StatefulSet", "ReplicaSet"}[i%3])
		m.Name = fmt.Sprintf("web-%d", i)
		m = edited(m, set1(m.Name, "metadata", "name"), set1(int64(pods/100), "spec", "replicas"))
		from, to = append(from, m), append(to, edited(m, edits...))
	}
	snap := Assume(from, to)
	snap.Now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	mark := jsonText(Mark{Version: 1, Commit: "c1", Revision: "0123456789", Restart: map[string]string{"web": "containerd://1"}, Was: map[string]string{"web": "app:v0"}})
	for _, members := range snap.Pods {
		for _, pod := range members { // as an earlier update left them
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, AnnotationState, mark)
		}
	}
	return Commit{ID: "c2", Manifests: to}, snap
}
