package manifest_test

import (
	"fmt"
	"testing"

	"situ.gitops/sync/manifest"
)

const deployment = `# the shop's front door
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-%[1]d
  namespace: shop
  labels: {app: web-%[1]d}
spec:
  replicas: 4
  selector:
    matchLabels: {app: web-%[1]d}
  template:
    metadata:
      labels: {app: web-%[1]d}
      annotations: {app-config: plain}
    spec:
      containers:
      - name: app
        image: registry.example/app:v1
        ports: [{name: http, containerPort: 8080}]
        env: [{name: GREETING, value: hello}]
        resources: {requests: {cpu: 100m, memory: 64Mi}}
        readinessProbe: {httpGet: {path: /, port: http}, periodSeconds: 1}
      - name: sidecar
        image: registry.example/sidecar:v1
`

func manyFiles(n int) []manifest.File {
	files := make([]manifest.File, n)
	for i := range files {
		files[i] = manifest.File{Path: fmt.Sprintf("apps/%05d.yaml", i), Hash: fmt.Sprint(i), Content: fmt.Appendf(nil, deployment, i)}
	}
	return files
}

func BenchmarkParse10000New(b *testing.B) {
	files := manyFiles(10_000)
	for b.Loop() {
		var parser manifest.Parser
		parse(b, &parser, files)
	}
}

func BenchmarkParse10000Known(b *testing.B) {
	files := manyFiles(10_000)
	var parser manifest.Parser
	parse(b, &parser, files)
	for b.Loop() {
		parse(b, &parser, files)
	}
}

func parse(b *testing.B, parser *manifest.Parser, files []manifest.File) {
	b.Helper()
	manifests, problems := parser.Parse(files)
	if len(manifests) != len(files) || len(problems) > 0 {
		b.Fatalf("Parse = %d manifests, problems %v, want %d and none", len(manifests), problems, len(files))
	}
}
